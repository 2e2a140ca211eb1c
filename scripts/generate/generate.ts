import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { natsUsers, type NatsUser } from '@switchyard/bus';
import { buildGraphSchema } from '@switchyard/contracts';
import { composeServices } from './compose.ts';
import { grafanaDashboard } from './grafana.ts';
import { chartFiles, chartLinks } from './helm/charts.ts';
import { metricsPage } from './metrics-page.ts';
import { codeOwners, packageLinks } from './packages.ts';
import { prometheusAlerts, prometheusConfig } from './prometheus.ts';
import { referencePages } from './reference/pages.ts';
import { withSection } from './section.ts';

// Generates files from the declarations. Without --write, prints the files that are out of date and fails.
const COMPOSE = ['  # Begin of the services, written by `make generate`.', '  # End of the services.'] as const;
const README = ['<!-- Begin of the packages, written by `make generate`. -->', '<!-- End of the packages. -->'] as const;

const generated: Readonly<Record<string, string>> = {
  '.github/CODEOWNERS': codeOwners(),
  'docker-compose.yml': withSection('docker-compose.yml', COMPOSE, `${composeServices()}\n`),
  'README.md': withSection(
    'README.md',
    README,
    `\n**Services:** ${packageLinks('services')}\n\n**Libraries:** ${packageLinks('libs')}\n\n`,
  ),
  'deploy/nats/users.conf': usersConf(natsUsers()),
  'deploy/prometheus/prometheus.yml': prometheusConfig(),
  'deploy/prometheus/alerts.yml': prometheusAlerts(),
  'deploy/grafana/switchyard.json': grafanaDashboard(),
  'docs/reference/metrics.md': metricsPage(),
  'docs/reference/graph.schema.json': `${JSON.stringify(buildGraphSchema(), null, 2)}\n`,
  ...chartFiles(),
  ...(await referencePages()),
};

for (const [name, text] of Object.entries(generated)) {
  const file = fileURLToPath(new URL(`../../${name}`, import.meta.url));
  if (process.argv.includes('--write')) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  } else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    console.error(`${name} is out of date. Update it: make generate`);
    process.exitCode = 1;
  }
}

for (const [name, target] of Object.entries(chartLinks())) {
  const link = fileURLToPath(new URL(`../../${name}`, import.meta.url));
  if (process.argv.includes('--write')) {
    mkdirSync(dirname(link), { recursive: true });
    rmSync(link, { force: true });
    symlinkSync(target, link);
  } else if (lstatSync(link, { throwIfNoEntry: false }) === undefined || readlinkSync(link) !== target) {
    console.error(`${name} is not a link to ${target}. Update it: make generate`);
    process.exitCode = 1;
  }
}

function usersConf(users: readonly NatsUser[]): string {
  return [
    '# Written by `make generate` from the contracts: the users and their permissions. Everything else is refused.',
    '# The passwords are environment variables of nats-server.',
    'users: [',
    ...users.map(userConf),
    ']',
    '',
  ].join('\n');
}

function userConf({ name, publish, subscribe }: NatsUser): string {
  return `  {
    user: ${name}, password: $NATS_${name.toUpperCase()}_PASSWORD
    permissions: {
      publish: { allow: [${list(publish)}] }
      subscribe: { allow: [${list(subscribe)}] }
    }
  }`;
}

function list(all: readonly string[]): string {
  return `\n${all.map((one) => `        ${JSON.stringify(one)}\n`).join('')}      `;
}
