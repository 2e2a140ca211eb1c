import assert from 'node:assert/strict';
import { test } from 'node:test';
import { banner, type Served } from './banner.ts';

const run: Served = {
  version: '1.2.3',
  url: 'http://127.0.0.1:4000',
  bus: 'memory:',
  data: 'some/where',
  services: ['gateway', 'sessions'],
  seconds: 0.26,
  provider: 'openai/gpt-5',
  token: 'sy_pat_x',
  terminal: true,
  warning: undefined,
  command: 'bin/switchyard',
};

test('the banner says what runs, where, and what to paste next', () => {
  const text = banner(run);
  for (const part of ['switchyard 1.2.3', 'in-process', '2/2 ready in 0.3 s', 'openai/gpt-5', run.url, 'sy_pat_x', 'some/where/token']) {
    assert.ok(text.includes(part), part);
  }
  assert.equal(text.split('\n').filter((line) => /^ {2}(bin\/switchyard|curl)/.test(line)).length, 3);
});

test('a token is for the eyes before a terminal; elsewhere it says where it is, and what prints it', () => {
  const kept = banner({ ...run, terminal: false });
  assert.ok(!kept.includes('sy_pat_x'), kept);
  assert.match(kept, /token +saved in some\/where\/token .* bin\/switchyard token {3}prints it\n/);
});

test('what is dangerous stands in it, and nothing where nothing is', () => {
  assert.match(banner({ ...run, warning: 'everybody can read this' }), /\n {2}warning +everybody can read this\nTry:/);
  assert.doesNotMatch(banner(run), /warning/);
});

test('where no token that works is known, the banner says so, and what gives one', () => {
  const text = banner({ ...run, token: undefined });
  assert.match(text, /token +none that works is saved here.*SWITCHYARD_TOKEN=/);
  assert.ok(!text.includes('undefined'));
});

test('a real bus is shown as it is named, without its password', () => {
  assert.match(banner({ ...run, bus: 'nats://127.0.0.1:4222' }), /bus +nats:\/\/127\.0\.0\.1:4222\n/);
  assert.match(banner({ ...run, bus: 'nats://me:secret@a:1,me:secret@b:2' }), /bus +nats:\/\/a:1,b:2\n/);
});
