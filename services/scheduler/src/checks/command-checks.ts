import type { RunCommand } from './run-command.ts';
import type { SystemAlert, SystemCheck } from './system-check.ts';

const TTL_MS = 10_000;
/** A simulated upgrade reads the whole package database, and updates are published a few times a day. */
const UPDATES_TTL_MS = 3_600_000;
const MAX_NAMES = 10;

/** Options that keep git from running programs that a repository configures. */
const SAFE_GIT = ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null', '-c', 'core.untrackedCache=false'];

/** Checks for failed units of systemd: the configured ones, or all. */
export function createSystemdCheck(runCommand: RunCommand): SystemCheck {
  return {
    name: 'systemd',
    ttlMs: TTL_MS,
    isEnabled: ({ systemd }) => systemd.enabled,
    async run({ systemd }, signal) {
      const args = ['list-units', '--state=failed', '--plain', '--no-legend', '--no-pager'];
      const output = await runCommand('systemctl', args, signal);
      if (output === undefined) return undefined;
      const failed = readLines(output).map((line) => line.trim().split(/\s+/)[0] ?? '');
      const isWatched = (unit: string): boolean =>
        systemd.services.length === 0 || systemd.services.includes(unit) || systemd.services.includes(unit.replace(/\.service$/, ''));
      return failed.filter(isWatched).map((unit) => ({ key: `systemd ${unit}`, text: `The unit ${unit} has failed.` }));
    },
  };
}

/** Checks for packages with updates on machines with apt. */
export function createUpdateCheck(runCommand: RunCommand): SystemCheck {
  return {
    name: 'securityUpdates',
    ttlMs: UPDATES_TTL_MS,
    isEnabled: ({ securityUpdates }) => securityUpdates.enabled,
    async run({ securityUpdates: { securityOnly } }, signal) {
      const output = await runCommand('apt-get', ['--simulate', '-o', 'Debug::NoLocking=true', 'upgrade'], signal);
      if (output === undefined) return undefined;
      const packages = readLines(output)
        .filter((line) => line.startsWith('Inst ') && (!securityOnly || /-security\b|Debian-Security/i.test(line)))
        .map((line) => line.split(' ')[1] ?? '');
      if (packages.length === 0) return [];
      const kind = securityOnly ? 'security updates' : 'updates';
      return [{ key: 'updates', text: `${packages.length} packages have ${kind}: ${listNames(packages)}.` }];
    },
  };
}

/** Checks the configured repositories for changes that are not committed, and for branches that differ from their upstream. */
export function createGitCheck(runCommand: RunCommand): SystemCheck {
  return {
    name: 'git',
    ttlMs: TTL_MS,
    isEnabled: ({ git }) => git.enabled && git.repositories.length > 0,
    async run({ git: { repositories, checkRemote } }, signal) {
      const found = await Promise.all(
        repositories.map(async (repository) => {
          const args = [...SAFE_GIT, '-C', repository, 'status', '--porcelain=v1', '--branch'];
          const output = await runCommand('git', args, signal);
          return output === undefined ? undefined : describeRepository(repository, readLines(output), checkRemote);
        }),
      );
      const checked = found.filter((alerts) => alerts !== undefined);
      return checked.length === 0 ? undefined : checked.flat();
    },
  };
}

function describeRepository(repository: string, [branch = '', ...changes]: string[], checkRemote: boolean): SystemAlert[] {
  const difference = checkRemote ? /\[((?:ahead|behind)[^\]]*)\]$/.exec(branch)?.[1] : undefined;
  const alerts: SystemAlert[] = [];
  if (changes.length > 0)
    alerts.push({ key: `git changes ${repository}`, text: `The repository ${repository} has ${changes.length} uncommitted changes.` });
  // The network is not used: the upstream is compared as of the last fetch.
  if (difference !== undefined)
    alerts.push({
      key: `git upstream ${repository}`,
      text: `The branch of ${repository} is ${difference} its upstream, as of the last fetch.`,
    });
  return alerts;
}

function readLines(output: string): string[] {
  return output.split('\n').filter((line) => line.trim() !== '');
}

function listNames(names: readonly string[]): string {
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  return `${names.slice(0, MAX_NAMES).join(', ')}${more}`;
}
