import type { KnownTypes } from '../left-out.ts';

/** The types of tools and items that a lenient request to `/v1/responses` may have. */
export const KNOWN_TYPES: KnownTypes = {
  tools: new Set(['function', 'custom', 'namespace', 'local_shell']),
  namespaceTools: new Set(['function']),
  items: new Set([
    'message',
    'reasoning',
    'item_reference',
    'function_call',
    'function_call_output',
    'custom_tool_call',
    'custom_tool_call_output',
    'local_shell_call',
    'local_shell_call_output',
  ]),
};
