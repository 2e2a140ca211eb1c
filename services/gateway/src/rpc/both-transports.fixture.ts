import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { SECRETS, startTestGateway, type Answer, type TestGateway, type TestGatewayOptions, type TestSocket } from '../gateway.fixture.ts';

const FENCE = 'nothing more';

export interface Exchange {
  gateway: TestGateway;
  /** Sends one message unchanged and returns the parsed response; undefined without one. */
  say(message: string, token?: string): Promise<Said>;
  t: TestContext;
}

export type Said = Answer | Answer[] | undefined;

/** Runs a test over `POST /rpc` and over `/ws`. */
export function onBothTransports(name: string, run: (exchange: Exchange) => Promise<void>, options: TestGatewayOptions = {}): void {
  test(`${name} (http)`, async (t) => {
    await using gateway = await startTestGateway(options);
    await run({ gateway, t, say: (message, token = SECRETS.all) => sayOverHttp(gateway, message, token) });
  });
  test(`${name} (ws)`, async (t) => {
    await using gateway = await startTestGateway(options);
    await run({ gateway, t, say: (message, token = SECRETS.all) => sayOverSocket(gateway, message, token) });
  });
}

async function sayOverHttp(gateway: TestGateway, message: string, token: string): Promise<Said> {
  const response = await gateway.post('/rpc', message, { token });
  const text = await response.text();
  if (response.status === 204) {
    assert.equal(text, '');
    return undefined;
  }
  assert.equal(response.status, 200, text);
  return checked(JSON.parse(text) as Answer | Answer[]);
}

/** Sends pings after the message until the gateway is idle, so that no response can follow the last ping. */
async function sayOverSocket(gateway: TestGateway, message: string, token: string): Promise<Said> {
  const socket = await gateway.connect(token);
  socket.send(message);
  let said = await untilFence(socket);
  for (let idle = false; said === undefined && !idle;) {
    idle = [...gateway.gateway.connections.all].every(({ pending }) => (pending?.size ?? 0) === 0);
    said = await untilFence(socket);
  }
  socket.socket.close();
  await socket.closed;
  return said && checked(said);
}

/** The messages received before the response to a new ping. */
async function untilFence(socket: TestSocket): Promise<Said> {
  let said: Said;
  socket.send(`{"jsonrpc":"2.0","method":"system.ping","id":"${FENCE}"}`);
  for (let answer: Said = await socket.next(); !isFence(answer); answer = await socket.next()) said = answer;
  return said;
}

function isFence(said: Said): boolean {
  return said !== undefined && !Array.isArray(said) && said.id === FENCE;
}

function checked(said: Answer | Answer[]): Answer | Answer[] {
  for (const answer of Array.isArray(said) ? said : [said]) {
    assert.equal(answer.jsonrpc, '2.0');
    assert.ok('id' in answer);
    assert.equal('result' in answer, !('error' in answer));
    assert.ok(!JSON.stringify(answer.error ?? '').match(/\bat .*\.ts:|node_modules|Error:/), 'no stack in the answer');
  }
  return said;
}

/** The response, if there is exactly one. */
export function only(said: Said): Answer {
  assert.ok(said !== undefined && !Array.isArray(said), `one answer, not ${JSON.stringify(said)}`);
  return said;
}

export function many(said: Said): Answer[] {
  assert.ok(Array.isArray(said), `a batch of answers, not ${JSON.stringify(said)}`);
  return said;
}
