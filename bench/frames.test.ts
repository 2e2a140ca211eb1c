import assert from 'node:assert/strict';
import type { HeapProfiler, Runtime } from 'node:inspector';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { bytesByInnermost, framesText, timeByOutermost } from './frames.ts';
import { root } from './subject.ts';

function frame(functionName: string, file = ''): Runtime.CallFrame {
  const url = file === '' || file.startsWith('node:') ? file : pathToFileURL(join(root, file)).href;
  return { functionName, url, scriptId: '0', lineNumber: 6, columnNumber: 0 };
}

const ROOT = frame('(root)');
const OUTER = frame('run', 'services/sessions/src/worker.ts');
const INNER = frame('write', 'libs/store/src/queue.ts');
const PACKAGE = frame('parse', 'node_modules/zod/core.js');

test('timeByOutermost counts time for the outermost repository function and skips idle time', () => {
  const frames = timeByOutermost({
    nodes: [
      { id: 1, callFrame: ROOT, children: [2, 5, 6] },
      { id: 2, callFrame: PACKAGE, children: [3] },
      { id: 3, callFrame: OUTER, children: [4] },
      { id: 4, callFrame: INNER, children: [7] },
      { id: 5, callFrame: frame('(idle)') },
      { id: 6, callFrame: frame('emit', 'node:events') },
      { id: 7, callFrame: PACKAGE },
    ],
    startTime: 0,
    endTime: 100,
    samples: [7, 5, 4, 6],
    timeDeltas: [1, 10, 50, 20, 7],
  });
  assert.deepEqual(
    [...frames],
    [
      ['run  services/sessions/src/worker.ts:7', 30],
      ['emit  node:events:7', 7],
    ],
  );
});

test('bytesByInnermost counts bytes for the innermost repository function', () => {
  type Node = HeapProfiler.SamplingHeapProfileNode;
  const of = (callFrame: Runtime.CallFrame, selfSize: number, children: Node[] = []): Node => ({ callFrame, selfSize, children });
  const head = of(ROOT, 0, [of(OUTER, 5, [of(INNER, 10, [of(PACKAGE, 100)])]), of(PACKAGE, 1)]);
  const frames = bytesByInnermost({ head });
  assert.deepEqual(Object.fromEntries(frames), {
    'run  services/sessions/src/worker.ts:7': 5,
    'write  libs/store/src/queue.ts:7': 110,
    'parse  node_modules/zod/core.js:7': 1,
  });
});

test('framesText prints one column per phase, per turn, sorted by the last phase', () => {
  const phases = [
    { name: 'few', turns: 2, frames: new Map([['a', 4]]) },
    {
      name: 'many',
      turns: 4,
      frames: new Map([
        ['a', 4],
        ['b', 40],
      ]),
    },
  ];
  const lines = framesText('title', phases, 9)
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  assert.deepEqual(lines.slice(3), [
    ['2.0', '11.0', 'all'],
    ['0.0', '10.0', 'b'],
    ['2.0', '1.0', 'a'],
  ]);
});
