/* tools.c - the table of all tools. */
#include "mcp/tools.h"

#include "base/util.h"

const struct tool *const tools[] = {
    &tool_list_tasks,        &tool_show_task,         &tool_check_task,
    &tool_import_task,       &tool_compile_kernel,    &tool_emulate_kernel,
    &tool_evaluate_kernel,   &tool_profile_kernel,    &tool_start_optimization,
    &tool_poll_optimization, &tool_stop_optimization, &tool_list_runs,
    &tool_show_run,          &tool_show_candidate,    &tool_export_kernel,
};
const size_t ntools = ARRAY_LEN(tools);

const struct tool *tool_find(const char *name)
{
    for (size_t i = 0; i < ntools; i++)
        if (str_eq(tools[i]->name, name))
            return tools[i];
    return NULL;
}
