/*
 * tools.h - the table of all tools. schema/mcp.json describes them to clients; t/unit/mcp.c checks
 * that both name the same tools.
 *
 * To add a tool: describe it in schema/mcp.json, write its functions in a tool_*.c, declare its
 * entry here and add it to the table of tools.c.
 */
#ifndef MCP_TOOLS_H
#define MCP_TOOLS_H

#include "mcp/call.h"

extern const struct tool tool_list_tasks, tool_show_task, tool_check_task, tool_import_task;
extern const struct tool tool_compile_kernel, tool_emulate_kernel, tool_evaluate_kernel,
    tool_profile_kernel;
extern const struct tool tool_start_optimization, tool_poll_optimization, tool_stop_optimization;
extern const struct tool tool_list_runs, tool_show_run, tool_show_candidate, tool_export_kernel;

extern const struct tool *const tools[];
extern const size_t ntools;
const struct tool *tool_find(const char *name);

#endif
