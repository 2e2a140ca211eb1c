import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { allowPort, mapHosts } from '@switchyard/egress/testing';
import { startOutside, testBrowser, TIMEOUT } from './browser.fixture.ts';

interface SilentListener extends AsyncDisposable {
  readonly port: number;
  readonly connections: number;
}

/** Counts connections on all addresses of this machine. */
async function listenSilently(): Promise<SilentListener> {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.destroy();
  }).listen(0);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

test('rejects other schemes, credentials and ports before a browser starts', TIMEOUT, async () => {
  await using app = await testBrowser();
  const addresses = [
    'file:///etc/passwd',
    'javascript:alert(1)',
    'data:text/html,x',
    'view-source:http://site.example/',
    'chrome://version',
  ];
  for (const url of [...addresses, 'http://user:pass@site.example/', 'http://site.example:22/', 'nonsense']) {
    await assert.rejects(app.bus.call('browser.navigate', { url }), { code: 'INVALID_ARGUMENT' }, url);
    await assert.rejects(app.bus.call('browser.open', { url }), { code: 'INVALID_ARGUMENT' }, url);
  }
  assert.deepEqual(await app.bus.call('browser.status', {}), { running: false });
});

test('reaches no internal address by navigation, redirect, rebinding or from a page', TIMEOUT, async () => {
  await using silent = await listenSilently();
  using _port = allowPort(silent.port);
  const { port } = silent;
  using _names = mapHosts({
    'inside.example': { port, addresses: () => ['10.0.0.8'] },
    'rebinding.example': { port, addresses: () => ['127.0.0.1'] },
  });
  const targets = [
    `http://127.0.0.1:${port}`,
    `http://localhost:${port}`,
    `http://[::1]:${port}`,
    'http://inside.example',
    'https://inside.example',
  ];
  const probes = targets.map((target) => `probe(${JSON.stringify(target)});`).join('\n');
  await using outside = await startOutside({
    '/redirect': (_, response) => void response.writeHead(302, { location: `http://127.0.0.1:${port}/` }).end(),
    '/refresh': `<meta http-equiv="refresh" content="0;url=http://localhost:${port}/">refresh`,
    '/worker.js': (_, response) => void response.writeHead(200, { 'content-type': 'text/javascript' }).end(WORKER),
    '/probes': `<title>Probes</title><script>${PROBE}\n${probes}</script>`,
  });
  await using app = await testBrowser();
  for (const url of [
    `http://127.0.0.1:${port}/`,
    `http://0177.0.0.1:${port}/`,
    `http://localhost:${port}/`,
    `http://[::ffff:127.0.0.1]:${port}/`,
    'http://169.254.169.254/latest/meta-data',
    'http://10.0.0.1/',
    'http://inside.example/',
    'https://inside.example/',
    'http://rebinding.example/',
    'http://site.example/redirect',
  ]) {
    await assert.rejects(
      app.bus.call('browser.navigate', { url }),
      (error: { code?: string; details?: { reason?: string } }) =>
        error.code === 'PERMISSION_DENIED' && error.details?.reason === 'ADDRESS_NOT_PUBLIC',
      url,
    );
  }
  await app.bus.call('browser.navigate', { url: 'http://site.example/refresh' });
  // Until the refresh is refused, it may interrupt the next navigation.
  const refreshed = `http://localhost:${port}/`;
  while (!(await app.bus.call('browser.tabs', {})).tabs.some(({ url }) => url === refreshed));
  await app.bus.call('browser.navigate', { url: 'http://site.example/probes' });
  const done = await app.bus.call('browser.act', { action: 'wait', text: 'waiting', timeMs: 20_000 });
  assert.deepEqual(done, { ok: true, action: 'wait' });
  assert.match((await app.bus.call('browser.snapshot', {})).snapshot, /all \d+ probes ended/);
  assert.ok(outside.requests.includes('/worker.js'));
  assert.equal(silent.connections, 0);
});

test('browser.allowLoopbackNavigation lets pages reach this machine by its own names', TIMEOUT, async () => {
  await using outside = await startOutside({ '/': '<title>Inside</title>' });
  await using app = await testBrowser({ settings: { browser: { allowLoopbackNavigation: true } } });
  assert.equal((await app.bus.call('browser.navigate', { url: `http://127.0.0.1:${outside.port}/` })).title, 'Inside');
  await assert.rejects(app.bus.call('browser.navigate', { url: `http://0.0.0.0:${outside.port}/` }), {
    code: /PERMISSION_DENIED|INVALID_ARGUMENT/,
  });
});

test('a service worker reaches no internal address', TIMEOUT, async () => {
  await using silent = await listenSilently();
  using _port = allowPort(silent.port);
  // Chromium runs service workers on pages of this machine and of https only.
  const own = Object.values(networkInterfaces()).flatMap((all = []) =>
    all.filter(({ internal, family }) => !internal && family === 'IPv4'),
  );
  const targets = ['0.0.0.0', '10.0.0.8', ...own.map(({ address }) => address)].map((host) => `http://${host}:${silent.port}/`);
  await using outside = await startOutside({
    '/worker.js': (_, response) => void response.writeHead(200, { 'content-type': 'text/javascript' }).end(SERVICE_WORKER),
    '/own': 'own page',
    '/': `<p id=state>waiting</p><script>
      navigator.serviceWorker.onmessage = ({ data }) => { state.textContent = data; };
      navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready)
        .then(({ active }) => active.postMessage(${JSON.stringify(['/own', ...targets])}));</script>`,
  });
  await using app = await testBrowser({ settings: { browser: { allowLoopbackNavigation: true, timeoutMs: 20_000 } } });
  await app.bus.call('browser.navigate', { url: `http://127.0.0.1:${outside.port}/` });
  await app.bus.call('browser.act', { action: 'wait', text: 'waiting', timeMs: 20_000 });
  const { snapshot } = await app.bus.call('browser.snapshot', {});
  assert.ok(snapshot.includes(['reached', ...targets.map(() => 'failed')].join(' ')), snapshot);
  assert.equal(silent.connections, 0);
});

/** The proxy answers a refused request with 403. */
const SERVICE_WORKER = `onmessage = async ({ data, source }) => {
  const probe = (url) => fetch(url).then(({ ok }) => (ok ? 'reached' : 'failed'), () => 'failed');
  source.postMessage((await Promise.all(data.map(probe))).join(' '));
};`;

const WORKER =
  'onmessage = ({ data }) => fetch(data, { mode: "no-cors" }).then(() => postMessage("reached"), () => postMessage("failed"));';

/** Runs in the page: tries each way to reach a target and says when all have ended. */
const PROBE = `
let open = 0, all = 0;
document.write('<p id=state>waiting</p>');
const settle = () => { if (--open === 0) setTimeout(() => { document.querySelector('#state').textContent = 'all ' + all + ' probes ended'; }, 300); };
const track = (start) => { open++; all++; let ended = false; const end = () => { if (!ended) { ended = true; settle(); } }; setTimeout(end, 4000); try { start(end); } catch { end(); } };
const element = (tag, name, target) => track((end) => { const made = document.createElement(tag); made.onload = made.onerror = end; made[name] = target; document.body.append(made); });
function probe(target) {
  element('img', 'src', target + '/img');
  element('iframe', 'src', target + '/iframe');
  element('script', 'src', target + '/script');
  track((end) => { const link = document.createElement('link'); link.rel = 'prefetch'; link.onload = link.onerror = end; link.href = target; document.head.append(link); });
  track((end) => fetch(target, { mode: 'no-cors' }).then(end, end));
  track((end) => { const request = new XMLHttpRequest(); request.onloadend = end; request.open('GET', target); request.send(); });
  track((end) => { navigator.sendBeacon(target, 'x'); setTimeout(end, 300); });
  track((end) => { const source = new EventSource(target); source.onerror = () => { source.close(); end(); }; });
  track((end) => { const socket = new WebSocket(target.replace('http', 'ws')); socket.onclose = end; });
  track((end) => { const worker = new Worker('/worker.js'); worker.onmessage = end; worker.onerror = end; worker.postMessage(target); });
  track((end) => { const peer = new RTCPeerConnection({ iceServers: [{ urls: 'turn:' + new URL(target).host + '?transport=tcp', username: 'a', credential: 'b' }, { urls: 'stun:' + new URL(target).host }] });
    peer.createDataChannel('x'); peer.onicegatheringstatechange = () => { if (peer.iceGatheringState === 'complete') end(); };
    peer.createOffer().then((offer) => peer.setLocalDescription(offer)); });
}`;
