import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readGolden } from '../../scripts/helm/read-goldens.ts';

interface Profile {
  defaultAction: string;
  architectures: string[];
  syscalls: { names: string[]; action: string; args?: object[] }[];
}

const profile = JSON.parse(readFileSync(new URL('switchyard-browser/files/chromium-seccomp.json', import.meta.url), 'utf8')) as Profile;
const allowed = new Set(
  profile.syscalls.filter(({ action, args }) => action === 'SCMP_ACT_ALLOW' && args === undefined).flatMap(({ names }) => names),
);

test('the profile of Chromium allows what its sandbox needs', () => {
  for (const name of ['clone', 'unshare', 'chroot']) assert.ok(allowed.has(name), name);
});

test('the profile of Chromium denies by default, and allows no call that reaches beyond the container', () => {
  assert.equal(profile.defaultAction, 'SCMP_ACT_ERRNO');
  const dangerous = ['bpf', 'mount', 'umount2', 'pivot_root', 'setns', 'init_module', 'kexec_load', 'keyctl', 'perf_event_open', 'reboot'];
  assert.deepEqual(
    dangerous.filter((name) => allowed.has(name)),
    [],
  );
});

test('the profile of Chromium is for the architectures of the images', () => {
  for (const architecture of ['SCMP_ARCH_X86_64', 'SCMP_ARCH_AARCH64'])
    assert.ok(profile.architectures.includes(architecture), architecture);
});

test('the chart ships the profile in a ConfigMap', () => {
  assert.ok(readGolden('default').some(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'switchyard-browser-seccomp'));
});
