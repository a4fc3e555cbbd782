/*
 * schema.h - the store's tables, one step per schema version. Never edit a released step: add a new
 * one at the end.
 */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

static const char *const schema_steps[] = {
    /* 1 */
    "CREATE TABLE blob(sha TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT, WITHOUT ROWID;"

    "CREATE TABLE run("
    " id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, task TEXT NOT NULL,"
    " strategy TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'running',"
    " reason TEXT NOT NULL DEFAULT '', config TEXT NOT NULL, source TEXT NOT NULL,"
    " created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL,"
    " wall_ns INTEGER NOT NULL DEFAULT 0, best INTEGER NOT NULL DEFAULT -1) STRICT;"

    "CREATE TABLE call("
    " run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,"
    " role TEXT NOT NULL, idx INTEGER NOT NULL,"
    " ended INTEGER NOT NULL DEFAULT 0, ok INTEGER NOT NULL DEFAULT 0,"
    " author TEXT NOT NULL, model TEXT NOT NULL DEFAULT '', prompt_sha TEXT NOT NULL,"
    " stable_sha TEXT NOT NULL REFERENCES blob(sha), turn_sha TEXT NOT NULL REFERENCES blob(sha),"
    " reply_sha TEXT REFERENCES blob(sha),"
    " in_tokens INTEGER NOT NULL DEFAULT 0, cached_tokens INTEGER NOT NULL DEFAULT 0,"
    " cache_write_tokens INTEGER NOT NULL DEFAULT 0, out_tokens INTEGER NOT NULL DEFAULT 0,"
    " estimated INTEGER NOT NULL DEFAULT 0, drift INTEGER NOT NULL DEFAULT 0,"
    " usd REAL NOT NULL DEFAULT -1, latency_ns INTEGER NOT NULL DEFAULT 0,"
    " requests INTEGER NOT NULL DEFAULT 0, continued INTEGER NOT NULL DEFAULT 0,"
    " finish TEXT NOT NULL DEFAULT '', handle TEXT NOT NULL DEFAULT '',"
    " error TEXT NOT NULL DEFAULT '', notes TEXT NOT NULL DEFAULT '', at_ms INTEGER NOT NULL,"
    " PRIMARY KEY(run, role, idx)) STRICT, WITHOUT ROWID;"

    "CREATE TABLE verdict("
    " run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, idx INTEGER NOT NULL,"
    " source_sha TEXT NOT NULL REFERENCES blob(sha), json_sha TEXT NOT NULL REFERENCES blob(sha),"
    " kind TEXT NOT NULL, score REAL NOT NULL, time_ns REAL NOT NULL, speedup REAL NOT NULL,"
    " at_ms INTEGER NOT NULL, PRIMARY KEY(run, idx)) STRICT, WITHOUT ROWID;"

    "CREATE TABLE node("
    " run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, idx INTEGER NOT NULL,"
    " parent INTEGER, verdict INTEGER, source_sha TEXT NOT NULL REFERENCES blob(sha),"
    " role TEXT NOT NULL, stage TEXT NOT NULL, move TEXT NOT NULL, fate TEXT NOT NULL,"
    " kind TEXT NOT NULL, time_ns REAL NOT NULL, speedup REAL NOT NULL, roofline_pct REAL NOT NULL,"
    " is_model INTEGER NOT NULL, PRIMARY KEY(run, idx),"
    " FOREIGN KEY(run, parent) REFERENCES node(run, idx),"
    " FOREIGN KEY(run, verdict) REFERENCES verdict(run, idx)) STRICT, WITHOUT ROWID;"

    "CREATE TABLE idea("
    " run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, idx INTEGER NOT NULL,"
    " node INTEGER, kind TEXT NOT NULL, text TEXT NOT NULL, outcome TEXT NOT NULL,"
    " gain REAL NOT NULL, PRIMARY KEY(run, idx),"
    " FOREIGN KEY(run, node) REFERENCES node(run, idx)) STRICT, WITHOUT ROWID;"

    "CREATE TABLE event("
    " run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, key TEXT NOT NULL,"
    " kind TEXT NOT NULL, text TEXT NOT NULL, at_ms INTEGER NOT NULL, PRIMARY KEY(run, key)"
    ") STRICT, WITHOUT ROWID;",

    /* 2: campaigns. An entry is one task of a campaign. */
    "CREATE TABLE campaign("
    " id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, config TEXT NOT NULL,"
    " created_ms INTEGER NOT NULL) STRICT;"

    "CREATE TABLE entry("
    " campaign INTEGER NOT NULL REFERENCES campaign(id) ON DELETE CASCADE, idx INTEGER NOT NULL,"
    " label TEXT NOT NULL, operand TEXT NOT NULL, options TEXT NOT NULL,"
    " task_sha TEXT REFERENCES blob(sha), run INTEGER REFERENCES run(id),"
    " state TEXT NOT NULL DEFAULT 'waiting', reason TEXT NOT NULL DEFAULT '',"
    " hone TEXT NOT NULL DEFAULT '', known_ns REAL NOT NULL DEFAULT 0,"
    " at_ms INTEGER NOT NULL, PRIMARY KEY(campaign, idx)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX entry_run ON entry(run) WHERE run IS NOT NULL;",

    /* 3: memory across runs (memory/memory.h). A lesson names its run, but stays when the run is
     * removed. */
    "CREATE TABLE lesson("
    " id INTEGER PRIMARY KEY, run TEXT NOT NULL, imported INTEGER NOT NULL,"
    " task TEXT NOT NULL, task_sha TEXT NOT NULL, class TEXT NOT NULL, ops TEXT NOT NULL,"
    " sizes TEXT NOT NULL, marks TEXT NOT NULL, gpu TEXT NOT NULL, measured INTEGER NOT NULL,"
    " kind TEXT NOT NULL, playbook TEXT NOT NULL, text TEXT NOT NULL, gain REAL NOT NULL,"
    " at_ms INTEGER NOT NULL, UNIQUE(run, imported, kind, playbook, text)) STRICT;"
    "CREATE INDEX lesson_class ON lesson(class);",

    /* 4: the author of each candidate, because `hone resume --author` can change it within a run.
     */
    "ALTER TABLE node ADD COLUMN author TEXT NOT NULL DEFAULT '';",
};

#endif
