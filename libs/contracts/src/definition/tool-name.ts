/** A method as the name of a tool, which models and MCP clients can spell: `session.history` is `session_history`. */
export function toolName(method: string): string {
  return method.replaceAll('.', '_');
}
