import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createSource, putBlob, readBlob } from '@switchyard/blob';
import { contracts } from '@switchyard/contracts';
import { encodeWav } from '@switchyard/models';
import { openHost } from '@switchyard/service-kit';
import { silentLogger } from '@switchyard/telemetry';
import {
  openNats,
  principal,
  resolveSecrets,
  startMediaUpstream,
  startMongo,
  startProcess,
  tempDir,
  type StartedProcess,
} from '@switchyard/testkit';

const KILLS = Number(process.env['SWITCHYARD_TEST_KILLS'] ?? 4);
const SPEECHES = 60;
const TRANSCRIPTIONS = 20;
const DOCUMENTS = 20;
const REPLICAS = 3;
/** Calls at once, so that each kill ends some of them. */
const CLIENTS = 12;
const PROVIDER_DELAY_MS = 150;
const RETRY_MS = 200;
const MAX_ATTEMPTS = 200;
const MAX_ORPHAN_POLLS = 600;
const ORPHAN_POLL_MS = 100;
const MAIN = join(import.meta.dirname, 'main.ts');
const OPTIONS = { timeout: 300_000, skip: process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off' };

/** Parsers whose service has died. */
function listOrphans(): string[] {
  const folders = process.platform === 'linux' ? readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];
  return folders.filter((pid) => {
    try {
      const isParser = readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(join(import.meta.dirname, 'parsers'));
      const [, parent = ''] = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
      return isParser && parent === '1';
    } catch {
      return false; // it has ended
    }
  });
}

test('100 jobs end while replicas are killed, and nothing is left of the killed ones', OPTIONS, async () => {
  const wav = Buffer.from(encodeWav(new Int16Array(2_400), 24_000));
  await using upstream = await startMediaUpstream({ speech: wav, transcript: 'Nine.' });
  upstream.respond({ kind: 'whole', delayMs: PROVIDER_DELAY_MS });
  await using data = await tempDir();
  const [nats, mongo] = await Promise.all([openNats(), startMongo()]);
  const stop = { [Symbol.asyncDispose]: async () => void (await Promise.all([nats.stop(), mongo.stop()])) };
  await using _servers = stop;
  const temporary = join(data.path, 'tmp');
  mkdirSync(temporary);
  const shared = {
    SWITCHYARD_BUS: nats.url,
    SWITCHYARD_STORE: mongo.url,
    SWITCHYARD_BLOBS: `file:${join(data.path, 'blobs')}`,
    SWITCHYARD_CONFIG: ':',
    OPENAI_BASE_URL: `${upstream.origin}/v1`,
  };
  await using caller = await openHost({ env: { ...shared, SWITCHYARD_DATA: data.path }, log: silentLogger() });
  await (await caller.connect('secrets')).serve(contracts.secrets, { 'secrets.resolve': resolveSecrets({}) }, { version: '0.0.0' });
  const bus = (await caller.connect('gateway')).as(principal());
  const blobs = (await caller.blobs()).for(principal());

  let started = 0;
  const startReplica = (): Promise<StartedProcess> => {
    const env = { ...shared, SWITCHYARD_DATA: join(data.path, `replica-${(started += 1)}`), TMPDIR: temporary };
    return startProcess([process.execPath, MAIN], { env, ready: /"msg":"serving"/ });
  };
  const replicas = await Promise.all(Array.from({ length: REPLICAS }, startReplica));
  await using _replicas = {
    [Symbol.asyncDispose]: async () => void (await Promise.all(replicas.map((one) => one[Symbol.asyncDispose]()))),
  };

  const page = Buffer.from(`<html><body>${'<p>The train leaves at nine.</p>'.repeat(500)}</body></html>`);
  const { id } = await putBlob(blobs, createSource(page), { contentType: 'text/html' });
  const paths: string[] = [];
  const jobs: (() => Promise<void>)[] = [
    ...Array.from({ length: SPEECHES }, (_, at) => async () => {
      const { filePath } = await bus.call('tts.synthesize', { text: `Sentence ${at}.`, format: 'wav', idempotencyKey: `speech-${at}` });
      paths.push(filePath);
    }),
    ...Array.from({ length: TRANSCRIPTIONS }, (_, at) => async () => {
      const audio = Buffer.from(encodeWav(new Int16Array(100 + at), 8_000)).toString('base64');
      const result = await bus.call('audio.transcribe', { audio });
      assert.equal('text' in result ? result.text : result.error, 'Nine.');
    }),
    ...Array.from({ length: DOCUMENTS }, () => async () => {
      const { text } = await bus.call('media.extract_document', { attachment_url: `/media/${id}` });
      assert.match(text, /The train leaves at nine/);
    }),
  ];
  // Each kind is spread over the whole time.
  const queue = jobs.map((job, at) => ({ job, at: (at * 37) % jobs.length })).toSorted((a, b) => a.at - b.at);
  const total = queue.length;
  let done = 0;
  let failures = 0;

  async function work(): Promise<void> {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      for (let attempt = 1; ; attempt++) {
        try {
          await next.job();
          break;
        } catch (error) {
          const { code, message, retryable } = error as { code?: string; message: string; retryable?: boolean };
          assert.ok(retryable === true && attempt < MAX_ATTEMPTS, `${code}: ${message}`);
          failures += 1;
          await delay(RETRY_MS);
        }
      }
      done += 1;
    }
  }

  const workers = Promise.all(Array.from({ length: CLIENTS }, work));

  async function kill(): Promise<void> {
    for (let kills = 0; kills < KILLS; kills++) {
      const goal = ((kills + 1) * total) / (KILLS + 2);
      // Then a call is open at the provider.
      do await Promise.race([upstream.nextRequest(), workers]);
      while (done < goal);
      await replicas.shift()?.end('SIGKILL');
      replicas.push(await startReplica());
    }
  }

  await Promise.all([kill(), workers]);
  assert.equal(done, 100);
  assert.ok(failures > 0, 'no kill ended a call');
  assert.equal(new Set(paths).size, SPEECHES, 'each key has one file');
  for (const path of paths) {
    const [blobId = ''] = /blob_\w{22}/.exec(path) ?? [];
    let size = 0;
    for await (const chunk of (await readBlob(blobs, blobId)).bytes) size += chunk.length;
    assert.equal(size, wav.length);
  }
  const spoken = upstream.requests.filter(({ path }) => path.endsWith('/audio/speech'));
  assert.equal(new Set(spoken.map(({ body }) => body.toString())).size, SPEECHES);
  assert.ok(spoken.length <= SPEECHES + KILLS * CLIENTS, `${spoken.length} requests: only interrupted calls are paid again`);
  assert.deepEqual(
    readdirSync(temporary).filter((name) => name.startsWith('switchyard')),
    [],
  );
  for (let poll = 0; listOrphans().length > 0; poll++) {
    assert.ok(poll < MAX_ORPHAN_POLLS, 'parsers of killed services are still running');
    await delay(ORPHAN_POLL_MS);
  }
});
