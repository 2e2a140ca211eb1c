/**
 * The `node:http` module for servers. An `import` of `node:http` reads all its exports and so loads the client of `fetch` and
 * `WebSocket` as well, which costs about 20 ms and 4 MiB at each start.
 */
export const http = process.getBuiltinModule('node:http');
