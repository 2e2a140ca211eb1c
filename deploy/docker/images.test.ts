import assert from 'node:assert/strict';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isBuilt, SERVER_FLAGS, SERVICES } from '@switchyard/contracts';
import { openSettings, readEnvironment } from '@switchyard/service-kit';
import { startNatsServer, startProcess, tempDir, type StartedProcess } from '@switchyard/testkit';
import { parse } from 'yaml';
import { readImageContent } from './image-files.ts';
import { images } from './images.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const NATS_OFF = process.env['SWITCHYARD_TEST_NATS'] === 'off' && 'SWITCHYARD_TEST_NATS=off';
/** A user that does not own the files. */
const NOBODY = '65534';
const TOKEN = 'operator-chosen-'.padEnd(40, 'x');

interface ComposeService {
  image?: string;
  build?: { target?: string; args: { IMAGE: string } };
  entrypoint?: string[];
  command?: string[];
  environment?: Record<string, string | null>;
  volumes?: (string | { source: string; target: string; read_only?: boolean; volume?: { subpath: string } })[];
  read_only?: boolean;
  depends_on?: Record<string, { condition: string }>;
}

const { services, volumes } = parse(readFileSync(`${root}docker-compose.yml`, 'utf8'), { merge: true }) as {
  services: Record<string, ComposeService>;
  volumes: Record<string, unknown>;
};
const built = SERVICES.filter((name) => name === 'gateway' || isBuilt(name));

/** The folder of keys that a container mounts, and its mount point. */
function getKeys(service: ComposeService | undefined): string[] {
  return (service?.volumes ?? []).flatMap((one) => (typeof one === 'string' || one.source !== 'keys' ? [] : [one.volume?.subpath ?? '/']));
}

async function assemble(name: string, out: string): Promise<void> {
  await using job = await startProcess([process.execPath, `${root}deploy/docker/assemble.ts`, name, out]);
  assert.equal((await job.exited).code, 0, job.output());
}

/** Makes all files read-only. */
function seal(directory: string): void {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isSymbolicLink()) chmodSync(path, entry.isDirectory() ? 0o555 : 0o444);
  }
  chmodSync(directory, 0o555);
}

test('the Dockerfile runs Node with the flags of all servers', () => {
  const [, entrypoint = ''] = / AS job\n[^]*?\nENTRYPOINT (.*)$/m.exec(readFileSync(`${root}deploy/docker/Dockerfile`, 'utf8')) ?? [];
  assert.deepEqual(JSON.parse(entrypoint), ['tini', '--', 'node', ...SERVER_FLAGS]);
});

test('the Dockerfile installs native parts in the images that have some', () => {
  const dockerfile = readFileSync(`${root}deploy/docker/Dockerfile`, 'utf8');
  const [, listed = ''] = / AS build\n[^]*?case "\$IMAGE" in ([a-z| ]+)\) omit=dev ;;/.exec(dockerfile) ?? [];
  const withNative = [...images.keys()].filter((name) => readImageContent(name).paths.some(isForThisPlatform));
  assert.deepEqual(listed.split('|'), withNative);
});

/** Whether a package runs on this platform only. Such packages are optional parts of others. */
function isForThisPlatform(path: string): boolean {
  const manifest = join(root, path, 'package.json');
  if (!existsSync(manifest)) return false;
  const { os = [] } = JSON.parse(readFileSync(manifest, 'utf8')) as { os?: string[] };
  return os.includes(process.platform);
}

test('the image of the dashboard fills the directory from which the gateway serves it', () => {
  const dockerfile = readFileSync(`${root}deploy/docker/Dockerfile`, 'utf8');
  const [, stage = ''] = /^FROM \S+ AS dashboard\n([^]*?)\n\n/m.exec(dockerfile) ?? [];
  const [, source] = /^COPY --from=dashboard-build \/src\/(\S+) \/dashboard$/m.exec(stage) ?? [];
  const [, target = ''] = /^CMD \["\/app\/(\S+)"\]$/m.exec(stage) ?? [];
  const [, bundled = ''] =
    /BUNDLED_DASHBOARD = fileURLToPath\(new URL\('([^']+)', import\.meta\.url\)\)/.exec(
      readFileSync(`${root}services/gateway/src/service.ts`, 'utf8'),
    ) ?? [];
  const directory = fileURLToPath(new URL(bundled, new URL('../../services/gateway/src/service.ts', import.meta.url)));
  assert.deepEqual([source, `${root}${target}`], [target, directory.replace(/\/$/, '')]);
});

test('every implemented service has an image and two replicas in the compose file', () => {
  assert.deepEqual([...images.keys()].sort(), [...built, 'jobs'].sort());
  for (const name of built) {
    assert.equal(services[name]?.build?.args.IMAGE, name);
    assert.equal((services[name] as { deploy?: { replicas: number } }).deploy?.replicas, 2, name);
    assert.deepEqual([services[name]?.read_only, getKeys(services[name])], [true, [name]], name);
  }
  for (const [name, { build }] of Object.entries(services)) {
    if (build === undefined) continue;
    assert.ok(images.has(build.args.IMAGE), name);
    // `up --wait` never ends for a container with a disabled health check. Jobs therefore use an image without one.
    assert.equal(build.target, build.args.IMAGE === 'jobs' ? 'job' : undefined, name);
  }
});

test('the compose file declares all dependencies and volumes, and pins the versions of foreign images', () => {
  for (const [name, { image, volumes: mounted = [], depends_on: needed = {} }] of Object.entries(services)) {
    for (const other of Object.keys(needed)) assert.ok(services[other], `${name} waits for ${other}`);
    assert.ok(image === undefined || /:\d+\.\d+\.\d+/.test(image), `${name}: ${image}`);
    for (const one of mounted) {
      const source = typeof one === 'string' ? (one.split(':')[0] ?? '') : one.source;
      assert.ok(source.startsWith('./') ? existsSync(root + source) : source in volumes, `${name}: ${source}`);
    }
  }
});

test('make-keys generates each key once, and each container mounts the keys that its environment names', async () => {
  await using dir = await tempDir();
  const make = async (): Promise<string> => {
    await using job = await startProcess([process.execPath, `${root}deploy/docker/make-keys.ts`, dir.path]);
    assert.equal((await job.exited).code, 0, job.output());
    return job.output();
  };
  assert.match(await make(), /^made the keys/);
  const token = readFileSync(`${dir.path}/secrets/token`, 'utf8');
  assert.match(await make(), /^there are keys/);
  assert.equal(readFileSync(`${dir.path}/secrets/token`, 'utf8'), token);

  for (const [name, service] of Object.entries(services)) {
    const [part] = getKeys(service);
    const named = JSON.stringify(service).matchAll(/\/run\/keys\/([\w.-]+)/g);
    for (const [, file = ''] of named) assert.ok(existsSync(`${dir.path}/${part}/${file}`), `${name}: ${part}/${file}`);
    if (part !== undefined && part !== '/') assert.ok(statSync(`${dir.path}/${part}`).isDirectory(), `${name}: ${part}`);
  }
  const passwords = readFileSync(`${dir.path}/nats/passwords`, 'utf8');
  for (const [, variable = ''] of readFileSync(`${root}deploy/nats/users.conf`, 'utf8').matchAll(/password: \$(\w+)/g))
    assert.ok(passwords.includes(`export ${variable}=`), variable);

  for (const name of built) {
    const declared = Object.entries(services[name]?.environment ?? {}).filter(([, value]) => value !== null) as [string, string][];
    const preset = (value: string): string => value.replaceAll(/\$\{\w+:-(.*?)\}/g, '$1');
    const env = Object.fromEntries(declared.map(([key, value]) => [key, preset(value).replace('/run/keys', `${dir.path}/${name}`)]));
    const blobs = env['SWITCHYARD_BLOB_PORT'] === undefined ? env['SWITCHYARD_BLOBS'] : `grpc://${name}:${env['SWITCHYARD_BLOB_PORT']}`;
    assert.equal(blobs, 'grpc://registry:9480', name);
    const { bus, store, cache } = await readEnvironment(env);
    await using settings = await openSettings(await readEnvironment(env)); // throws on an unknown setting
    assert.ok(settings.current.gateway.port > 0);
    assert.deepEqual([bus, new URL(store).username], ['nats://nats:4222', name], name);
    assert.equal(URL.parse(cache)?.hostname || undefined, name === 'gateway' ? 'redis' : undefined, name);
  }
});

test('an image contains the files of its service without tests, and runs as any user on read-only files', { skip: NATS_OFF }, async () => {
  await using stack = new AsyncDisposableStack();
  const dir = stack.use(await tempDir()).path;
  const [app, data, node] = [`${dir}/app`, `${dir}/data`, `${dir}/node`];
  chmodSync(dir, 0o755);
  mkdirSync(data, { mode: 0o777 });
  chmodSync(data, 0o777);
  copyFileSync(process.execPath, node);
  await assemble('secrets', app);
  const files = readdirSync(app, { recursive: true }) as string[];
  assert.ok(files.includes('services/secrets/src/main.ts') && !files.some((file) => /^services\/(?!secrets)\w/.test(file)));
  assert.deepEqual(
    files.filter((file) => /^(services|libs)\/.*\.(test|contract|fixture)\.ts$|^libs\/testkit|^node_modules\/typescript\//.test(file)),
    [],
  );
  seal(app);
  stack.defer(() =>
    readdirSync(app, { recursive: true, withFileTypes: true }).forEach(
      (entry) => entry.isDirectory() && chmodSync(join(entry.parentPath, entry.name), 0o755),
    ),
  );

  const server = await startNatsServer();
  stack.defer(() => server.stop());
  const env = {
    SWITCHYARD_BUS: server.url,
    SWITCHYARD_CONFIG: ':',
    SWITCHYARD_DATA: data,
    SWITCHYARD_METRICS_PORT: '0',
    SWITCHYARD_TOKEN: TOKEN,
    NODE_COMPILE_CACHE: `${app}/.cache`,
  };
  const drop = process.getuid?.() === 0 ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : [];
  const run = (program: string, more = {}): Promise<StartedProcess> =>
    startProcess([...drop, node, program], { cwd: app, env: { ...env, ...more } });
  const service = stack.use(await run('main.mjs'));
  await service.line(/"msg":"serving"/);
  const [, port = ''] = await service.line(/"metrics":(\d+)/);

  const healthcheck = async (): Promise<number | null> => {
    await using check = await run('deploy/docker/healthcheck.ts', { SWITCHYARD_METRICS_PORT: port });
    return (await check.exited).code;
  };
  assert.equal(await healthcheck(), 0, service.output());
  await server.kill();
  while ((await healthcheck()) === 0); // until the health check notices
  await server.restart();
  while ((await healthcheck()) !== 0);
  assert.equal((await service.end('SIGTERM')).code, 0);
  assert.equal(await healthcheck(), 1);
});

test('assemble rejects an unknown image', async () => {
  await using dir = await tempDir();
  await using job = await startProcess([process.execPath, `${root}deploy/docker/assemble.ts`, 'gatewai', dir.path]);
  assert.notEqual((await job.exited).code, 0);
  assert.match(job.output(), /Unknown image "gatewai"\. Images: gateway /);
});
