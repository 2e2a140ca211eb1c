/** The version of the gateway in discovery, documents and MCP. */
export const VERSION = '0.1.0';
