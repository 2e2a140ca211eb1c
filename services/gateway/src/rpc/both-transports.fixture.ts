import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { SECRETS, startTestGateway, type Answer, type TestGateway, type TestGatewayOptions, type TestSocket } from '../gateway.fixture.ts';

const FENCE = 'nothing more';

export interface Exchange {
  gateway: TestGateway;
  /** Sends one message unchanged and returns the parsed response; undefined without one. */
  send(message: string, token?: string): Promise<Received>;
  t: TestContext;
}

export type Received = Answer | Answer[] | undefined;

/** Runs a test over `POST /rpc` and over `/ws`. */
export function onBothTransports(name: string, run: (exchange: Exchange) => Promise<void>, options: TestGatewayOptions = {}): void {
  test(`${name} (http)`, async (t) => {
    await using gateway = await startTestGateway(options);
    await run({ gateway, t, send: (message, token = SECRETS.all) => sendOverHttp(gateway, message, token) });
  });
  test(`${name} (ws)`, async (t) => {
    await using gateway = await startTestGateway(options);
    await run({ gateway, t, send: (message, token = SECRETS.all) => sendOverSocket(gateway, message, token) });
  });
}

async function sendOverHttp(gateway: TestGateway, message: string, token: string): Promise<Received> {
  const response = await gateway.post('/rpc', message, { token });
  const text = await response.text();
  if (response.status === 204) {
    assert.equal(text, '');
    return undefined;
  }
  assert.equal(response.status, 200, text);
  return checkResponses(JSON.parse(text) as Answer | Answer[]);
}

/** Sends pings after the message until the gateway is idle, so that no response can follow the last ping. */
async function sendOverSocket(gateway: TestGateway, message: string, token: string): Promise<Received> {
  const socket = await gateway.connect(token);
  socket.send(message);
  let response = await readUntilFence(socket);
  for (let idle = false; response === undefined && !idle;) {
    idle = [...gateway.gateway.connections.all].every(({ pending }) => (pending?.size ?? 0) === 0);
    response = await readUntilFence(socket);
  }
  socket.socket.close();
  await socket.closed;
  return response && checkResponses(response);
}

/** The messages received before the response to a new ping. */
async function readUntilFence(socket: TestSocket): Promise<Received> {
  let response: Received;
  socket.send(`{"jsonrpc":"2.0","method":"system.ping","id":"${FENCE}"}`);
  for (let answer: Received = await socket.next(); !isFence(answer); answer = await socket.next()) response = answer;
  return response;
}

function isFence(message: Received): boolean {
  return message !== undefined && !Array.isArray(message) && message.id === FENCE;
}

function checkResponses(response: Answer | Answer[]): Answer | Answer[] {
  for (const answer of Array.isArray(response) ? response : [response]) {
    assert.equal(answer.jsonrpc, '2.0');
    assert.ok('id' in answer);
    assert.equal('result' in answer, !('error' in answer));
    assert.ok(!JSON.stringify(answer.error ?? '').match(/\bat .*\.ts:|node_modules|Error:/), 'no stack in the answer');
  }
  return response;
}

/** The response, if there is exactly one. */
export function expectSingle(response: Received): Answer {
  assert.ok(response !== undefined && !Array.isArray(response), `one answer, not ${JSON.stringify(response)}`);
  return response;
}

export function expectBatch(response: Received): Answer[] {
  assert.ok(Array.isArray(response), `a batch of answers, not ${JSON.stringify(response)}`);
  return response;
}
