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
/** Solved tasks of a run of `all`. The others have a goal that the solvers do not understand, or a page that fools them. */
const MIN_TASKS = 60;
const SEED = process.env['SWITCHYARD_TEST_SEED'] ?? '1';
/** `all`, or names with commas. Without it nothing runs, because all tasks last some minutes: `make test-browser-tasks`. */
const CHOICE = process.env['SWITCHYARD_TEST_TASKS'];

test('the tasks of MiniWoB++ are solved with snapshots and actions', { timeout: 600_000 }, async (t) => {
  if (CHOICE === undefined) return t.skip('make test-browser-tasks runs it');
  if (chromiumMissing !== undefined) return t.skip(chromiumMissing);
  const folder = await fetchTaskFiles().catch((error: unknown) => error as Error);
  if (typeof folder !== 'string') return t.skip(`the tasks cannot be fetched: ${folder.message.split('\n', 1)[0]}`);
  await using outside = await startOutside({ '*': serveTaskFiles(folder, SEED) });
  await using app = await testBrowser({ settings: { browser: { allowLoopbackNavigation: true } } });
  const failures: string[] = [];
  const names = CHOICE === 'all' ? Object.keys(TASKS) : CHOICE.split(',');
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
  const solved = names.length - failures.length;
  t.diagnostic(`${solved} of ${names.length} tasks in ${Math.round((performance.now() - startedAt) / 1_000)} s`);
  assert.ok(solved >= Math.min(MIN_TASKS, names.length), failures.join('\n'));
});
