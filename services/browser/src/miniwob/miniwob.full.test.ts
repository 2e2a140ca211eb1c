import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chromiumMissing, startOutside, testBrowser } from '../browser.fixture.ts';
import { CLICK_TASKS } from './click-tasks.fixture.ts';
import { DRAG_TASKS } from './drag-tasks.fixture.ts';
import { FORM_TASKS } from './form-tasks.fixture.ts';
import { PAGE_TASKS } from './page-tasks.fixture.ts';
import { fetchTaskFiles, serveTaskFiles } from './task-files.fixture.ts';
import { openTask, readReward } from './task-page.fixture.ts';
import { TEXT_TASKS } from './text-tasks.fixture.ts';

const TASKS = { ...CLICK_TASKS, ...TEXT_TASKS, ...FORM_TASKS, ...PAGE_TASKS, ...DRAG_TASKS };
/** Tasks that a run without a choice solves at least. */
const MIN_TASKS = 60;
const SEED = process.env['SWITCHYARD_TEST_SEED'] ?? '1';
const CHOICE = process.env['SWITCHYARD_TEST_TASKS']?.split(',');

test('the tasks of MiniWoB++ are solved with snapshots and actions', { timeout: 280_000 }, async (t) => {
  if (chromiumMissing !== undefined) return t.skip(chromiumMissing);
  const folder = await fetchTaskFiles().catch((error: unknown) => error as Error);
  if (typeof folder !== 'string') return t.skip(`the tasks cannot be fetched: ${folder.message.split('\n', 1)[0]}`);
  await using outside = await startOutside({ '*': serveTaskFiles(folder, SEED) });
  await using app = await testBrowser({ settings: { browser: { allowLoopbackNavigation: true } } });
  const failures: string[] = [];
  const names = CHOICE ?? Object.keys(TASKS);
  const startedAt = performance.now();
  for (const name of names) {
    try {
      const page = await openTask(app.bus, `http://127.0.0.1:${outside.port}/miniwob/${name}.html`);
      await TASKS[name]?.(page);
      assert.ok(await page.isDone(), 'the task has not ended');
      assert.equal(await readReward(app.bus), 1);
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  t.diagnostic(`${names.length - failures.length} of ${names.length} tasks in ${Math.round((performance.now() - startedAt) / 1_000)} s`);
  assert.deepEqual(failures, []);
  assert.ok(CHOICE !== undefined || names.length >= MIN_TASKS);
});
