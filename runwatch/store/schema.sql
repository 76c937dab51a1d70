-- Version 1 of the history. People see the views; the tables beneath may change with the version.
-- No keys and no indexes: a flush first deletes what it replaces, and the file has one writer.
CREATE SCHEMA stored_rows;

CREATE TABLE stored_rows.version (version INTEGER, written_by VARCHAR, created TIMESTAMPTZ);

CREATE TABLE stored_rows.runs (
    run VARCHAR,
    target VARCHAR,
    revision BIGINT,          -- one more with every flush: tells a writer that it was overtaken
    first_seen TIMESTAMPTZ,
    last_seen TIMESTAMPTZ,
    complete BOOLEAN,         -- the summary belongs to the cursors
    state VARCHAR,            -- JSON: what parser and detectors remember
    summary VARCHAR,          -- JSON: what `scan --json` printed for the run
    lines BIGINT,
    bytes BIGINT,
    segments INTEGER,
    first_step BIGINT,
    last_step BIGINT,
    total_steps BIGINT,
    terminal_state VARCHAR,
    judgement VARCHAR,
    decision VARCHAR,
    confidence VARCHAR,
    best_checkpoint VARCHAR,
    root_kind VARCHAR,
    root_stream VARCHAR,
    root_line BIGINT,
    root_rank INTEGER,
    findings INTEGER,
    final_metrics MAP(VARCHAR, DOUBLE)
);

CREATE TABLE stored_rows.streams (
    run VARCHAR,
    stream VARCHAR,
    rank INTEGER,
    identity VARCHAR,         -- NULL where the stream cannot be gone on with
    position BIGINT,
    lines BIGINT,             -- complete lines before the position
    last_line BIGINT,
    points BIGINT,
    tail_points BIGINT
);

CREATE TABLE stored_rows.series (
    id INTEGER,
    run VARCHAR,
    stream VARCHAR,
    rank INTEGER,
    metric VARCHAR,
    unit VARCHAR,
    quantity VARCHAR
);

-- `tail` marks what an unfinished last line said: it goes when that line is read again.
CREATE TABLE stored_rows.points (
    series INTEGER,
    line BIGINT,
    time TIMESTAMPTZ,
    step BIGINT,
    epoch DOUBLE,
    value DOUBLE,
    segment INTEGER,
    tail BOOLEAN
);

CREATE TABLE stored_rows.lines (
    run VARCHAR,
    stream VARCHAR,
    line BIGINT,
    time TIMESTAMPTZ,
    rank INTEGER,
    step BIGINT,
    segment INTEGER,
    level VARCHAR,
    text VARCHAR,
    tail BOOLEAN
);

CREATE TABLE stored_rows.findings (
    run VARCHAR,
    id VARCHAR,
    kind VARCHAR,
    severity VARCHAR,
    role VARCHAR,
    state VARCHAR,
    stream VARCHAR,
    line BIGINT,
    last_line BIGINT,
    step BIGINT,
    rank INTEGER,
    rank_note VARCHAR,
    time TIMESTAMPTZ,
    message VARCHAR,
    evidence VARCHAR[],
    advice VARCHAR,
    confidence VARCHAR,
    series DOUBLE[][]
);

CREATE TABLE stored_rows.judgements (
    run VARCHAR,
    time TIMESTAMPTZ,
    judgement VARCHAR,
    decision VARCHAR,
    confidence VARCHAR,
    terminal_state VARCHAR,
    reason VARCHAR,
    root_kind VARCHAR,
    root_stream VARCHAR,
    root_line BIGINT
);

CREATE TABLE stored_rows.checks (
    time TIMESTAMPTZ,
    run VARCHAR,
    target VARCHAR,
    judgement VARCHAR,
    reason VARCHAR,
    interval_s DOUBLE,
    next_due TIMESTAMPTZ,
    decided_by VARCHAR,       -- rules, reviewer, or source where nothing could be read
    action VARCHAR,           -- what was done about a STOP
    details VARCHAR           -- JSON: what `check --json` printed, and what the next one compares
);

CREATE VIEW streams AS
SELECT run, stream, rank, last_line AS lines, position AS bytes, points + tail_points AS points
FROM stored_rows.streams;

CREATE VIEW runs AS
SELECT
    r.run, r.target, r.first_seen, r.last_seen, r.complete,
    coalesce(s.streams, 0) AS streams,
    coalesce(r.lines, s.lines, 0) AS lines,
    coalesce(r.bytes, s.bytes, 0) AS bytes,
    coalesce(s.points, 0) AS points,
    r.segments, r.first_step, r.last_step, r.total_steps,
    r.terminal_state, r.judgement, r.decision, r.confidence, r.best_checkpoint,
    r.root_kind, r.root_stream, r.root_line, r.root_rank,
    r.findings, r.final_metrics
FROM stored_rows.runs AS r
LEFT JOIN (
    SELECT
        run,
        count(*) AS streams,
        sum(lines)::BIGINT AS lines,
        sum(bytes)::BIGINT AS bytes,
        sum(points)::BIGINT AS points
    FROM streams GROUP BY run
) AS s ON s.run = r.run;

CREATE VIEW points AS
SELECT
    s.run, s.stream, p.line, p.time, s.rank, p.step, p.epoch,
    s.metric, p.value, s.unit, s.quantity, p.segment
FROM stored_rows.points AS p
JOIN stored_rows.series AS s ON s.id = p.series;

CREATE VIEW lines AS
SELECT run, stream, line, time, rank, step, level, text, segment FROM stored_rows.lines;

CREATE VIEW findings AS SELECT * FROM stored_rows.findings;

CREATE VIEW judgements AS SELECT * FROM stored_rows.judgements;

CREATE VIEW checks AS SELECT * FROM stored_rows.checks;
