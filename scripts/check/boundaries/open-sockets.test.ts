import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findSockets, listForeignSockets } from './open-sockets.ts';

const OPENING = [
  `import { connect } from 'node:net';`,
  `import { isIP, connect as dial } from 'node:tls';`,
  `import net from 'net';`,
  `import * as http from 'node:http';`,
  `import {\n  request,\n  type Agent,\n} from 'node:https';`,
  `import { Agent } from 'undici';`,
  `const { Agent } = await import('undici');`,
  `const http = process.getBuiltinModule('node:http');`,
  `const response = await fetch(url, { method: 'POST' });`,
  `const request = globalThis.fetch;`,
  `const socket = new WebSocket(url);`,
  `import { WebSocket } from 'ws';`,
];

const HARMLESS = [
  `import type { Socket } from 'node:net';`,
  `import { BlockList, isIP, type Socket } from 'node:net';`,
  `import { STATUS_CODES } from 'node:http';`,
  `import type { Dispatcher } from 'undici';`,
  `const response = await egress.fetch(url);`,
  `// use fetch(url) of libs/egress`,
  `/** Calls fetch(url). */`,
  `async fetch(url: string): Promise<Response> {`,
  `const prefetch(url);`,
];

test('finds every way to open a socket', () => {
  for (const source of OPENING) assert.equal(findSockets(source).length, 1, source);
});

test('ignores types, constants, comments and the fetch of libs/egress', () => {
  for (const source of HARMLESS) assert.deepEqual(findSockets(source), [], source);
});

test('no service and no library opens a socket outside its owners', () => {
  assert.deepEqual(listForeignSockets(), []);
});
