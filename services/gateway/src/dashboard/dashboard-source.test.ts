import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { sections } from '@switchyard/contracts';
import { tempDir } from '@switchyard/testkit';
import { followDashboard } from './dashboard-source.ts';

/** Settings that a test changes, and the log. */
function createDeps(path: string | undefined) {
  const listeners = new Set<() => void>();
  const current = (web: object) => ({ gateway: sections.gateway.parse({ web }) });
  const errors: unknown[] = [];
  const settings = {
    current: current({ path }),
    onChange(listener: (now: { gateway: ReturnType<typeof current>['gateway'] }) => void) {
      const notify = (): void => listener(settings.current);
      listeners.add(notify);
      return () => void listeners.delete(notify);
    },
  };
  return {
    settings,
    log: { error: (fields: unknown) => void errors.push(fields), info: () => undefined },
    errors,
    listeners,
    set(web: object) {
      settings.current = current(web);
      for (const listener of listeners) listener();
    },
  };
}

async function createDirectories() {
  const dir = await tempDir();
  const createDashboard = async (name: string): Promise<string> => {
    await mkdir(join(dir.path, name));
    await writeFile(join(dir.path, name, 'index.html'), name);
    return join(dir.path, name);
  };
  return {
    one: await createDashboard('one'),
    two: await createDashboard('two'),
    none: join(dir.path, 'none'),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

test('followDashboard serves the directory of the current settings, and nothing when disabled', async () => {
  await using directories = await createDirectories();
  const deps = createDeps(directories.one);
  using dashboard = followDashboard({ ...deps, isDeclared: () => true });
  const page = (): string | undefined => dashboard.current?.('')?.bytes.toString();
  assert.equal(page(), 'one');
  deps.set({ path: directories.two });
  assert.equal(page(), 'two');
  deps.set({ path: directories.two, enabled: false });
  assert.equal(page(), undefined);
  deps.set({ path: directories.one });
  assert.equal(page(), 'one');
  deps.set({ path: directories.none });
  assert.deepEqual([page(), deps.errors.length], ['one', 1], 'the previous dashboard stays in use');
});

test('followDashboard fails for an unreadable directory only if it was set before the start', async () => {
  await using directories = await createDirectories();
  const deps = createDeps(directories.none);
  using dashboard = followDashboard({ ...deps, isDeclared: () => false });
  assert.deepEqual([dashboard.current, deps.errors.length], [undefined, 1]);
  assert.throws(() => followDashboard({ ...deps, isDeclared: () => true }), /gateway\.web\.path: .*none cannot be read/);
});

test('a disposed dashboard does not listen to settings', async () => {
  await using directories = await createDirectories();
  const deps = createDeps(directories.one);
  followDashboard({ ...deps, isDeclared: () => true })[Symbol.dispose]();
  assert.equal(deps.listeners.size, 0);
});
