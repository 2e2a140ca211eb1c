import type { z } from 'zod';
import { BLOB_KEEPER, BLOB_PORT, serviceCharts, type ServiceChart } from './services.ts';
import { Browser, Gateway, Platform, Sessions, StatelessService, StoringService, umbrella } from './values.ts';
import { valuesFile, valuesSchema } from './values-file.ts';
import { valuesPage } from './values-page.ts';

const FOLDER = 'deploy/helm';
const UMBRELLA = 'switchyard';
const PLATFORM = 'switchyard-platform';
/** The version of the platform chart. A service chart refuses an older platform than this. */
const PLATFORM_VERSION = '0.1.0';
const PLATFORM_DESCRIPTION = 'What the services of Switchyard share: NATS, its streams and users, keys, alerts.';
const VALUES_PAGE = 'docs/reference/helm-values.md';
const WRITTEN = '# Written by `make generate`; do not edit it.\n';

interface Dependency {
  name: string;
  version: string;
  alias?: string;
}

const KIT: Dependency = { name: 'kit', version: '0.1.0' };

/** The generated files of all charts, and the page of their values, by path. Templates of kit, of the platform and of the ingress are written by hand. */
export function chartFiles(): Record<string, string> {
  const services = serviceCharts();
  const files = services.map((service) => serviceFiles(service));
  return Object.assign({ [VALUES_PAGE]: describeValues(services) }, ...files, platformFiles(), umbrellaFiles(services)) as Record<
    string,
    string
  >;
}

function describeValues(services: readonly ServiceChart[]): string {
  const described = services.map((service) => ({ ...service, name: `switchyard-${service.name}`, values: valuesOf(service) }));
  return valuesPage(described, { name: PLATFORM, version: PLATFORM_VERSION, description: PLATFORM_DESCRIPTION, values: Platform });
}

/** Links by path: a chart finds the charts that it depends on in its folder `charts`. */
export function chartLinks(): Record<string, string> {
  const services = serviceCharts().map(({ name }) => `switchyard-${name}`);
  const kit = [...services, PLATFORM].map((chart) => [`${FOLDER}/${chart}/charts/kit`, '../../kit']);
  const parts = [...services, PLATFORM].map((chart) => [`${FOLDER}/${UMBRELLA}/charts/${chart}`, `../../${chart}`]);
  return Object.fromEntries([...kit, ...parts]) as Record<string, string>;
}

function serviceFiles(service: ServiceChart): Record<string, string> {
  const { version, description } = service;
  const name = `switchyard-${service.name}`;
  const annotations = { 'switchyard/platform': PLATFORM_VERSION };
  return {
    [`${FOLDER}/${name}/Chart.yaml`]: chartFile({ name, version, description, dependencies: [KIT], annotations }),
    ...valuesFiles(name, valuesOf(service)),
    [`${FOLDER}/${name}/templates/service.yaml`]: serviceTemplate(service),
  };
}

function valuesOf({ name, database }: ServiceChart): z.ZodType {
  if (name === 'gateway') return Gateway;
  if (name === 'sessions') return Sessions;
  if (name === 'browser') return Browser;
  return database ? StoringService : StatelessService;
}

function serviceTemplate({ name, database, outside, keepsBlobs, ports, variables }: ServiceChart): string {
  const description = [
    '"root" $',
    `"name" "${name}"`,
    `"database" ${database}`,
    `"outside" ${outside}`,
    `"public" ${name === 'gateway'}`,
    `"cache" ${name === 'gateway'}`,
    `"keepsBlobs" ${keepsBlobs}`,
    `"blobKeeper" "${BLOB_KEEPER}"`,
    `"blobPort" ${BLOB_PORT}`,
    `"ports" (dict${pairs(ports)})`,
    `"variables" (dict${pairs(variables)})`,
  ];
  return `${WRITTEN}{{ include "kit.service" (dict ${description.join(' ')}) }}\n`;
}

function pairs(record: Readonly<Record<string, string | number>>): string {
  return Object.entries(record)
    .map(([key, value]) => ` ${JSON.stringify(key)} ${JSON.stringify(value)}`)
    .join('');
}

function platformFiles(): Record<string, string> {
  const chart = { name: PLATFORM, version: PLATFORM_VERSION, description: PLATFORM_DESCRIPTION, dependencies: [KIT] };
  return {
    [`${FOLDER}/${PLATFORM}/Chart.yaml`]: chartFile(chart),
    ...valuesFiles(PLATFORM, Platform),
  };
}

function umbrellaFiles(services: readonly ServiceChart[]): Record<string, string> {
  const platform = { name: PLATFORM, version: PLATFORM_VERSION, alias: 'platform' };
  const dependencies = [platform, ...services.map(({ name, version }) => ({ name: `switchyard-${name}`, version, alias: name }))];
  const description = 'The whole product in one release.';
  return {
    [`${FOLDER}/${UMBRELLA}/Chart.yaml`]: chartFile({ name: UMBRELLA, version: PLATFORM_VERSION, description, dependencies }),
    ...valuesFiles(UMBRELLA, umbrella(dependencies.map(({ alias }) => alias))),
  };
}

function valuesFiles(chart: string, values: z.ZodType): Record<string, string> {
  const folder = `${FOLDER}/${chart}`;
  return { [`${folder}/values.yaml`]: valuesFile(values), [`${folder}/values.schema.json`]: valuesSchema(values) };
}

interface Chart {
  name: string;
  version: string;
  description: string;
  dependencies: readonly Dependency[];
  annotations?: Readonly<Record<string, string>>;
}

function chartFile({ name, version, description, dependencies, annotations = {} }: Chart): string {
  const noted = Object.entries(annotations).map(([key, value]) => `  ${key}: ${value}\n`);
  return `${WRITTEN}apiVersion: v2
name: ${name}
description: ${JSON.stringify(description)}
type: application
version: ${version}
appVersion: ${version}
kubeVersion: '>=1.30.0-0'
${noted.length === 0 ? '' : `annotations:\n${noted.join('')}`}dependencies:
${dependencies.map(dependencyLines).join('')}`;
}

function dependencyLines({ name, version, alias }: Dependency): string {
  // The first path that has a value decides.
  const condition = alias === undefined ? '' : `    alias: ${alias}\n    condition: ${alias}.enabled,global.services.${alias}\n`;
  return `  - name: ${name}\n    version: ${version}\n    repository: file://../${name}\n${condition}`;
}
