import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { findChromium, tempDir } from '@switchyard/testkit';
import { chromium, type Browser, type Page } from 'playwright-core';
import type { Running } from './embedded.ts';
import { onEachProfile } from './profiles.ts';

/** Chromium connects to the product only: no updates, no hosts of its vendor. */
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];
const QUIET = ['--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'];

const HTML = '<!doctype html><meta charset="utf-8"><title>yard</title><script src="yard.js" defer></script><p>a dashboard of our own</p>';
/** The script of the page. It has the token and puts it into no URL. */
const SCRIPT = `
  try { window.evaluated = new Function('return "ran"')(); } catch (error) { window.evaluated = error.name; }
  window.ticket = async (token) => {
    const answer = await fetch('/api/tickets', { method: 'POST', headers: { authorization: 'Bearer ' + token } });
    return (await answer.json()).ticket;
  };
  window.read = (url, last) => new Promise((resolve) => {
    const source = new EventSource(url);
    const events = [];
    const heard = (event) => {
      events.push({ name: event.type, data: JSON.parse(event.data) });
      if (event.type === last) { source.close(); resolve({ events, state: 'heard' }); }
    };
    for (const name of ['token', 'done', 'error', 'message:received']) source.addEventListener(name, (event) => event.data && heard(event));
    source.onerror = () => { if (source.readyState === EventSource.CLOSED) resolve({ events, state: 'refused' }); };
  });
  window.say = (url, messages) => new Promise((resolve) => {
    const socket = new WebSocket(url);
    const answers = [];
    socket.onopen = () => { for (const message of messages) socket.send(JSON.stringify(message)); };
    socket.onmessage = ({ data }) => {
      const answer = JSON.parse(data);
      if ('id' in answer) answers.push(answer);
      if (answers.length === messages.length) { socket.close(); resolve({ answers, state: 'answered' }); }
    };
    socket.onclose = ({ code }) => resolve({ answers, state: 'closed ' + code });
  });
`;

/** Globals that the page sets. */
interface Yard {
  /** The result of evaluating code from a string. */
  evaluated: string;
  ticket(token: string): Promise<string>;
  read(url: string, last: string): Promise<{ events: { name: string; data: Record<string, unknown> }[]; state: string }>;
  say(url: string, messages: object[]): Promise<{ answers: { id: number; result?: unknown }[]; state: string }>;
}

/** Without Chromium the tests are skipped. */
const found = await findChromium().catch((error: unknown) => error as Error);

let browser: Browser;
before(async () => {
  if (typeof found === 'string') browser = await chromium.launch({ executablePath: found, args: [...FLAGS, ...QUIET] });
});
after(() => (browser as Browser | undefined)?.close());

async function open(url: string): Promise<Page> {
  const page = await browser.newPage();
  await page.goto(url);
  return page;
}

function ticketFor(page: Page, token: string): Promise<string> {
  return page.evaluate((secret) => (globalThis as unknown as Yard).ticket(secret), token);
}

function read(page: Page, path: string, last: string) {
  return page.evaluate(([url, name]) => (globalThis as unknown as Yard).read(url, name), [path, last] as const);
}

function sendMessage(page: Page, url: string, messages: object[]) {
  return page.evaluate(([to, all]) => (globalThis as unknown as Yard).say(to, all), [url, messages] as const);
}

const ping = { jsonrpc: '2.0', id: 1, method: 'system.ping' };
const getSocket = ({ url }: Running, ticket: string): string => `${url.replace('http', 'ws')}/ws?ticket=${ticket}`;

if (found instanceof Error) test('a browser', { skip: found.message }, () => undefined);
else
  onEachProfile(
    'a browser',
    (product) => {
      test('loads the dashboard under its content security policy', async () => {
        const page = await open(`${product.url}/`);
        assert.deepEqual([new URL(page.url()).pathname, await page.title()], ['/app/', 'yard']);
        assert.equal(await page.evaluate(() => (globalThis as unknown as Yard).evaluated), 'EvalError');
        await page.close();
      });

      test('reads a streamed turn, and the EventSource stops when its ticket is used', async () => {
        const page = await open(`${product.url}/app/`);
        const path = `/api/chat/stream?message=${encodeURIComponent('hello yard')}&sessionKey=browser&ticket=${await ticketFor(page, product.token)}`;
        const { events, state } = await read(page, path, 'done');
        assert.equal(state, 'heard');
        const texts = events.filter(({ name }) => name === 'token').map(({ data }) => data['delta']);
        assert.equal(texts.join(''), 'I am dev/echo, the development model. You said: hello yard');
        assert.deepEqual(await read(page, path, 'done'), { events: [], state: 'refused' });
        await page.close();
      });

      test('receives events and calls over a WebSocket, each with a single-use ticket', async () => {
        const page = await open(`${product.url}/app/`);
        const receivedMessage = read(page, `/api/events?ticket=${await ticketFor(page, product.token)}`, 'message:received');
        const ticket = await ticketFor(page, product.token);
        const request = {
          jsonrpc: '2.0',
          id: 2,
          method: 'agent.execute',
          params: { message: 'over a socket', sessionKey: { channelId: 'socket' } },
        };
        const { answers, state } = await sendMessage(page, getSocket(product, ticket), [ping, request]);
        assert.equal(state, 'answered');
        const executed = answers.find(({ id }) => id === 2)?.result as { response: string };
        assert.match(executed.response, /You said: over a socket$/);
        assert.equal((await receivedMessage).state, 'heard');
        assert.deepEqual(await sendMessage(page, getSocket(product, ticket), [ping]), { answers: [], state: 'closed 4001' });
        await page.close();
      });

      test('rejects requests of a page from another origin', async () => {
        const other = createServer((_request, response) => response.end(`<!doctype html><script>${SCRIPT}</script>`)).listen(
          0,
          '127.0.0.1',
        );
        await once(other, 'listening');
        const own = await open(`${product.url}/app/`);
        const theirs = await open(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`);
        try {
          const ticket = await ticketFor(own, product.token);
          assert.deepEqual(await sendMessage(theirs, getSocket(product, ticket), [ping]), { answers: [], state: 'closed 1006' });
          const stream = `${product.url}/api/events?ticket=${await ticketFor(own, product.token)}`;
          assert.deepEqual(await read(theirs, stream, 'done'), { events: [], state: 'refused' });
          await assert.rejects(ticketFor(theirs, product.token));
        } finally {
          await Promise.all([own.close(), theirs.close()]);
          other.close();
        }
      });
    },
    {
      async start(stack) {
        const { path } = stack.use(await tempDir());
        await mkdir(join(path, 'app'));
        await writeFile(join(path, 'app', 'index.html'), HTML);
        await writeFile(join(path, 'app', 'yard.js'), SCRIPT);
        return { config: { gateway: { web: { path: join(path, 'app') } } } };
      },
    },
  );
