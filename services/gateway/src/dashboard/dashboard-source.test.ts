import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { sections } from '@switchyard/contracts';
import { tempDir } from '@switchyard/testkit';
import { followDashboard } from './dashboard-source.ts';

/** Settings that a test changes, and the log. */
function edge(path: string | undefined) {
  const listeners = new Set<() => void>();
  const current = (web: object) => ({ gateway: sections.gateway.parse({ web }) });
  const errors: unknown[] = [];
  const settings = {
    current: current({ path }),
    onChange(listener: (now: { gateway: ReturnType<typeof current>['gateway'] }) => void) {
      const heard = (): void => listener(settings.current);
      listeners.add(heard);
      return () => void listeners.delete(heard);
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

async function dashboards() {
  const dir = await tempDir();
  const made = async (name: string): Promise<string> => {
    await mkdir(join(dir.path, name));
    await writeFile(join(dir.path, name, 'index.html'), name);
    return join(dir.path, name);
  };
  return {
    one: await made('one'),
    two: await made('two'),
    none: join(dir.path, 'none'),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

test('another dashboard is served as soon as the settings name it, and none when they name none', async () => {
  await using at = await dashboards();
  const given = edge(at.one);
  using followed = followDashboard({ ...given, declared: true });
  const page = (): string | undefined => followed.current?.('')?.bytes.toString();
  assert.equal(page(), 'one');
  given.set({ path: at.two });
  assert.equal(page(), 'two');
  given.set({ path: at.two, enabled: false });
  assert.equal(page(), undefined);
  given.set({ path: at.one });
  assert.equal(page(), 'one');
  given.set({ path: at.none });
  assert.deepEqual([page(), given.errors.length], ['one', 1], 'the one before stays');
});

test('a folder set at run time does not prevent a start; one set in a file does', async () => {
  await using at = await dashboards();
  const given = edge(at.none);
  using followed = followDashboard({ ...given, declared: false });
  assert.deepEqual([followed.current, given.errors.length], [undefined, 1]);
  assert.throws(() => followDashboard({ ...given, declared: true }), /gateway\.web\.path: .*none cannot be read/);
});

test('a closed source receives no update', async () => {
  await using at = await dashboards();
  const given = edge(at.one);
  followDashboard({ ...given, declared: true })[Symbol.dispose]();
  assert.equal(given.listeners.size, 0);
});
