import assert from 'node:assert/strict';
import { test } from 'node:test';
import { banner, type Served } from './banner.ts';

const run: Served = {
  version: '1.2.3',
  how: 'all services in one process',
  again: 'make start',
  url: 'http://127.0.0.1:4000',
  bus: 'memory:',
  data: 'some/where',
  services: ['gateway', 'sessions'],
  seconds: 0.26,
  provider: 'openai/gpt-5',
  metrics: 'http://127.0.0.1:9464/metrics',
  token: 'sy_pat_x',
  terminal: true,
  warning: undefined,
  notInForce: [],
  command: 'bin/switchyard',
};

test('banner lists version, addresses, token and commands', () => {
  const text = banner(run);
  for (const part of [
    'switchyard 1.2.3',
    'in-process',
    '2/2 ready in 0.3 s',
    'openai/gpt-5',
    'metrics    http://127.0.0.1:9464/metrics',
    run.url,
    'OpenAI /openai/v1',
    'sy_pat_x',
    'some/where/token',
  ]) {
    assert.ok(text.includes(part), part);
  }
  assert.equal(text.split('\n').filter((line) => /^ {2}(bin\/switchyard|curl)/.test(line)).length, 3);
});

test('banner prints the token on terminals only', () => {
  const kept = banner({ ...run, terminal: false });
  assert.ok(!kept.includes('sy_pat_x'), kept);
  assert.match(kept, /token +saved in some\/where\/token .* bin\/switchyard token {3}prints it\n/);
});

test('banner includes a warning if there is one', () => {
  assert.match(banner({ ...run, warning: 'everybody can read this' }), /\n {2}warning +everybody can read this\nTry:/);
  assert.doesNotMatch(banner(run), /warning/);
});

test('banner explains how to set a token if no valid one is saved', () => {
  const text = banner({ ...run, token: undefined });
  assert.match(text, /token +the saved token is no longer valid.*SWITCHYARD_TOKEN=/);
  assert.ok(!text.includes('undefined'));
});

test('banner lists settings without effect and where they are set', () => {
  const set = (count: number) => Array.from({ length: count }, (_, n) => ({ path: `memory.key${n}`, from: 'config.yaml' }));
  assert.match(banner({ ...run, notInForce: set(1) }), /\n {2}no effect +memory\.key0 \(config\.yaml\): not used by any service yet\nTry:/);
  assert.match(
    banner({ ...run, notInForce: set(9) }),
    /memory\.key3 \(config\.yaml\): not used by any service yet, and 5 more; list them: bin\/switchyard doctor/,
  );
  assert.doesNotMatch(banner(run), /no effect/);
});

test('banner removes the password from the bus URL', () => {
  assert.match(banner({ ...run, bus: 'nats://127.0.0.1:4222' }), /bus +nats:\/\/127\.0\.0\.1:4222\n/);
  assert.match(banner({ ...run, bus: 'nats://me:secret@a:1,me:secret@b:2' }), /bus +nats:\/\/a:1,b:2\n/);
});

test('banner lists processes in aligned columns', () => {
  const one = (replica: string, ports: Record<string, number>) => ({ service: 's', replica, pid: 7, ports, log: `/logs/${replica}.log` });
  const text = banner({ ...run, processes: [one('gateway-1', { http: 4767 }), one('nats', {})] });
  assert.match(text, /\n {2}processes {2}gateway-1 {2}pid 7 {2}http 4767 {2}\S+gateway-1\.log\n {13}nats {7}pid 7 {13}\S+nats\.log\nTry:/);
  assert.doesNotMatch(banner(run), /processes/);
});
