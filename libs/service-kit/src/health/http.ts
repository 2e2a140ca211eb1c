/**
 * Node's HTTP for who serves it. An `import` of `node:http` reads all that it exports, and so loads the client behind `fetch` and `WebSocket`
 * too: some 20 ms and 4 MiB of each start, whether anybody asks for one or not.
 */
export const http = process.getBuiltinModule('node:http');
