import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  isImmutable,
  isNeverByRpc,
  isUnread,
  METHODS_THAT_WRITE,
  ownerOf,
  remainingSettings,
  SECTION_NAMES,
  sections,
  UNREAD_SETTINGS,
  unserved,
  type SectionName,
} from '@switchyard/contracts';
import { PROCESS_VARIABLE_HELP, variableOf } from '@switchyard/service-kit';
import { describeDefault, describeType } from './describe-schema.ts';
import { listSettings, type Setting } from './list-settings.ts';

// The page that lists every setting, made from the declarations. With --write it is written, else a stale one is refused.
const file = fileURLToPath(new URL('../docs/reference/settings.md', import.meta.url));
const text = page(listSettings());

if (process.argv.includes('--write')) writeFileSync(file, text);
else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
  console.error('docs/reference/settings.md is not what the declarations say. Write it: make lock');
  process.exitCode = 1;
}

function page(settings: readonly Setting[]): string {
  const keys = settings.filter(({ group }) => !group);
  const groups = SECTION_NAMES.filter((name) => settings.some(({ path, group }) => group && path === name));
  const remaining = remainingSettings();
  const waiting = keys.filter(({ path }) => isUnread(path)).length;
  return `# Settings

Written by \`make lock\` from [the declarations](../../libs/contracts/src/config/sections.ts); do not edit it.

A value is the default, unless a file says otherwise (\`config.yaml\`, or the list in \`SWITCHYARD_CONFIG\`), unless a stored change says otherwise, unless a variable of the environment says otherwise. Objects are merged, lists are replaced. In files \`\${NAME}\` is a variable. A name that is no key stops the start and says which one was meant.

- **Variable**: sets the key from the environment, as text or as the JSON it spells; with \`_FILE\` behind its name it names a file that holds the value. \`<ID>\` is the id of the entry. What stands in a list is set with the list.
- **Changed**: \`running\` is what \`config.*\` may write while everything runs, unless a variable sets the key${unserved.has('config.set') ? ' (no service answers `config.set` yet)' : ''}; \`file\` needs a file or a variable and a start. \`agents.*\` and the like are the methods that change it.
- **Read**: *not yet* is accepted and has no effect so far: ${waiting} of ${keys.length} keys. Whoever sets one is told at the start, by \`switchyard doctor\`, and in the answer of the method that wrote it.
- \`*\` in a key stands for an id, or for each entry of a list.

## The process

| Variable | Default | Meaning |
| --- | --- | --- |
${Object.entries(PROCESS_VARIABLE_HELP)
  .map(([name, { preset, means }]) => row([code(name), cell(preset), means]))
  .join('\n')}
| \`SWITCHYARD_HOST\` \`SWITCHYARD_PORT\` | | short for \`gateway.host\` and \`gateway.port\` |
| \`OPENAI_API_KEY\` and the keys of other providers | | what opens a provider; \`providers.entries.*.apiKeyName\` names others |
| \`SECRETS_MASTER_KEY\` | none; \`make cluster\` makes one | seals what \`env.set\` is told: 32 random bytes, \`openssl rand -hex 32\`, for the secrets service alone. Without it a file in the data directory keeps that, where everything is one process |
| \`SECRETS_MASTER_KEY_PREVIOUS\` | none | the one before, until all replicas have started with the new one |
| \`OPENAI_BASE_URL\` | | where the provider \`openai\` is |
| \`OTEL_EXPORTER_OTLP_ENDPOINT\` and what OpenTelemetry names besides | | traces and metrics; off and free without it ([watching](../guide/watching.md)) |

A variable that holds a secret can name a file instead: \`SWITCHYARD_TOKEN_FILE\`, \`OPENAI_API_KEY_FILE\`.

## At the root

${table(keys.filter(({ path }) => !path.includes('.') && !groups.includes(path as SectionName)))}

${groups.map((name) => section(name, settings)).join('\n\n')}

## What nothing reads

${UNREAD_SETTINGS.length - remaining.length} settings, or groups of them, wait for a service that answers nothing yet. ${leftOver(remaining)}
`;
}

function leftOver(remaining: readonly string[]): string {
  if (remaining.length === 0) return 'None is for one that is there.';
  const rows = remaining.map((path) => row([code(path), code(ownerOf(path) ?? '')]));
  return ['These are for one that is there:', '', '| Key | For |', '| --- | --- |', ...rows].join('\n');
}

function section(name: SectionName, settings: readonly Setting[]): string {
  const own = settings.filter(({ path }) => path.startsWith(`${name}.`));
  const reading = isUnread(name) ? ' Nothing reads this section yet.' : '';
  return `## ${name}\n\n${sentence(sections[name].description ?? '')}${reading}\n\n${table(own)}`;
}

/** A group has a row where it has something to say. */
function table(settings: readonly Setting[]): string {
  const shown = settings.filter(({ group, schema }) => !group || schema['description'] !== undefined);
  return `| Key | Type | Default | Meaning | Variable | Changed | Read |
| --- | --- | --- | --- | --- | --- | --- |
${shown.map(keyRow).join('\n')}`;
}

function keyRow(setting: Setting): string {
  const { path, schema, group, inList } = setting;
  const about = typeof schema['description'] === 'string' ? schema['description'] : '';
  if (group) return row([code(path), '', '', cell(about), '', '', '']);
  const variable = inList ? '' : code(variableFor(path));
  return row([
    code(path),
    describeType(schema),
    cell(describeDefault(schema)),
    cell(about),
    variable,
    changedBy(path),
    isUnread(path) ? 'not yet' : '',
  ]);
}

function variableFor(path: string): string {
  return variableOf(path.split('.')).replaceAll('*', '<ID>');
}

function changedBy(path: string): string {
  if (isNeverByRpc(path)) return 'file';
  if (!isImmutable(path)) return 'running';
  const methods = Object.entries(METHODS_THAT_WRITE).find(([prefix]) => path === prefix || path.startsWith(`${prefix}.`))?.[1];
  return methods === undefined ? 'file' : code(`${methods.split('.')[0] ?? ''}.*`);
}

function sentence(text: string): string {
  return text === '' ? '' : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;
}

function code(text: string): string {
  return `\`${text}\``;
}

/** Free text in a table: no line breaks, and angle brackets are no HTML. */
function cell(text: string): string {
  return text.replaceAll('\n', ' ').replaceAll('<', '&lt;');
}
