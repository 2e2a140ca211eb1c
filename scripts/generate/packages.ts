import { existsSync, readdirSync } from 'node:fs';
import { isBuilt, SERVICES, type ServiceName } from '@switchyard/contracts';

const root = new URL('../../', import.meta.url);
const PLATFORM = 'platform';

/** Teams of packages whose team is not the usual one: the service itself, or the platform team for libraries. */
const TEAMS: Readonly<Record<string, string>> = {
  'services/gateway': 'edge',
  'services/embedded': PLATFORM,
  'libs/models': 'sessions',
  'libs/security': 'secrets',
  'libs/telemetry': 'observability',
};

/** Renders the team of each package and of each contract. */
export function codeOwners(): string {
  const owned = (folder: string, team: string): string => `${`/${folder}/`.padEnd(35)} @switchyard/${team}`;
  const contracts = SERVICES.filter((service) => existsSync(new URL(`libs/contracts/src/${service}`, root)));
  return [
    '# Written by `make generate`. One team per service; the platform team keeps what they share.',
    `${'*'.padEnd(35)} @switchyard/${PLATFORM}`,
    '',
    ...listPackages('services').map((folder) => owned(folder, getTeam(folder))),
    ...listPackages('libs').map((folder) => owned(folder, TEAMS[folder] ?? PLATFORM)),
    '',
    '# A contract belongs to the team whose service answers it.',
    ...contracts.map((service) => owned(`libs/contracts/src/${service}`, getTeam(`services/${service}`))),
    '',
  ].join('\n');
}

function getTeam(folder: string): string {
  return TEAMS[folder] ?? folder.slice('services/'.length);
}

/** Renders links to the pages of all packages of a folder, the services in their usual order. */
export function packageLinks(folder: 'services' | 'libs'): string {
  const order = new Map<string, number>(SERVICES.map((service, at) => [service, at]));
  const getOrder = (name: string): number => order.get(name) ?? SERVICES.length;
  const names = listPackages(folder).map((path) => path.slice(folder.length + 1));
  const sorted = names
    .filter((name) => folder === 'libs' || !order.has(name) || name === 'gateway' || isBuilt(name as ServiceName))
    .toSorted((one, other) => getOrder(one) - getOrder(other) || one.localeCompare(other));
  return sorted.map((name) => `[${name}](${folder}/${name}/README.md)`).join(' · ');
}

function listPackages(folder: string): string[] {
  const names = readdirSync(new URL(`${folder}/`, root));
  return names
    .map((name) => `${folder}/${name}`)
    .filter((path) => existsSync(new URL(`${path}/package.json`, root)))
    .toSorted();
}
