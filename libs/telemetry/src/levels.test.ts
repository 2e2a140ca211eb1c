import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogLevel } from './levels.ts';
import { createLogger, logLevels } from './logger.ts';

function capture(level: LogLevel = 'info') {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const log = createLogger({ level, destination: { write } });
  return { log, modules: () => lines.splice(0).map(({ module }) => module) };
}

test('each line contains its module once: the bound module, the service or the process', () => {
  const texts: string[] = [];
  const log = createLogger({ destination: { write: (line: string) => void texts.push(line) } });
  const sessions = log.child({ service: 'sessions' });
  for (const one of [log, sessions, sessions.child({ method: 'x' }), sessions.child({ module: 'store' }), log.child({ module: 'bus' })])
    one.info('said');
  sessions.child({ module: 'store' }).child({ requestId: 'a' }).info('said');
  const lines = texts.map((text) => JSON.parse(text) as Record<string, unknown>);
  assert.deepEqual(
    lines.map(({ module, service }) => [module, service]),
    [
      ['process', undefined],
      ['sessions', 'sessions'],
      ['sessions', 'sessions'],
      ['store', 'sessions'],
      ['bus', undefined],
      ['store', 'sessions'],
    ],
  );
  for (const text of texts) assert.equal(text.split('"module"').length, 2, text);
});

test('a module level applies to existing and new children', () => {
  const { log, modules } = capture();
  const store = log.child({ service: 'sessions' }).child({ module: 'store' });
  const early = store.child({ requestId: 'a' });
  const other = log.child({ module: 'bus' });
  logLevels(log).wish({ modules: { store: 'debug' } });
  const later = log.child({ service: 'memory', module: 'store' });
  for (const one of [log, store, early, other, later, later.child({ requestId: 'b' })]) one.debug('detail');
  assert.deepEqual(modules(), ['store', 'store', 'store', 'store']);
});

test('modules inherit the level of their service', () => {
  const { log, modules } = capture();
  const sessions = log.child({ service: 'sessions' });
  const store = sessions.child({ module: 'store' });
  const elsewhere = log.child({ service: 'memory', module: 'store' });
  logLevels(log).wish({ modules: { sessions: 'debug' } });
  for (const one of [sessions, store, elsewhere]) one.debug('detail');
  assert.deepEqual(modules(), ['sessions', 'store']);
  logLevels(log).wish({ modules: { sessions: 'debug', store: 'error' } });
  for (const one of [sessions, store, elsewhere]) one.warn('warned');
  assert.deepEqual(modules(), ['sessions']);
});

test('overrides take precedence over configured levels until they are removed', () => {
  const { log, modules } = capture();
  const levels = logLevels(log);
  const sessions = log.child({ service: 'sessions' });
  const bus = log.child({ module: 'bus' });
  const sendMessage = (): unknown[] => {
    for (const one of [log, sessions, bus]) one.info('said');
    return modules();
  };
  levels.configure({ all: 'info', modules: { bus: 'error' } });
  assert.deepEqual(sendMessage(), ['process', 'sessions']);
  levels.wish({ all: 'debug', modules: { sessions: 'warn' } });
  assert.deepEqual(sendMessage(), ['process', 'bus']);
  levels.configure({ all: 'error', modules: {} });
  assert.deepEqual(sendMessage(), ['process', 'bus']);
  levels.wish({ modules: {} });
  assert.deepEqual(sendMessage(), []);
  levels.configure({ all: 'info', modules: {} });
  assert.deepEqual(sendMessage(), ['process', 'sessions', 'bus']);
});

test('restores the initial level after an override without configuration', () => {
  const { log, modules } = capture('warn');
  const bus = log.child({ module: 'bus' });
  logLevels(log).wish({ all: 'trace', modules: {} });
  logLevels(log).wish({ all: 'debug', modules: { bus: 'trace' } });
  logLevels(bus).wish({ modules: {} });
  for (const one of [log, bus]) one.info('said');
  for (const one of [log, bus]) one.warn('warned');
  assert.deepEqual(modules(), ['process', 'bus']);
});

test('does not retain collected loggers and keeps pino’s no-op for disabled levels', () => {
  const { log } = capture();
  for (let at = 0; at < 10_000; at++) log.child({ module: `m${at % 10}` }).debug('nothing');
  const bus = log.child({ module: 'bus' }).child({ requestId: 'a' });
  assert.equal(bus.debug, log.debug);
  logLevels(log).wish({ modules: { bus: 'warn' } });
  assert.equal(bus.info, log.debug);
});
