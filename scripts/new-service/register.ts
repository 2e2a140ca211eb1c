import { readFileSync } from 'node:fs';
import type { ServiceNames } from './name.ts';

/** Inserts a text before another text, which must occur once in the file. */
type Insertion = readonly [text: string, before: string];

const EMBEDDED = 'services/embedded';
const CONTRACTS = 'libs/contracts/src';

/** Returns the files that list all services, with the new one added, by path. Writes nothing. */
export function registered(names: ServiceNames, root: string): Record<string, string> {
  const { name, code, declared } = names;
  const key = name === code ? code : `'${name}': ${code}`;
  const insertions: Record<string, Insertion[]> = {
    [`${EMBEDDED}/src/services.ts`]: [
      [`import { ${code} } from '@switchyard/${name}';\n`, "import { registry } from '@switchyard/registry';"],
      [`  ${code},\n`, '];'],
    ],
  };
  if (!declared) {
    insertions[`${CONTRACTS}/definition/define.ts`] = [[`  '${name}',\n`, '] as const;\nexport type ServiceName']];
    insertions[`${CONTRACTS}/catalog/contracts.ts`] = [
      [`import { ${code} } from '../${name}/contract.ts';\n`, "import { observability } from '../observability/contract.ts';"],
      [`  ${key},\n`, '};\n\ntype Contracts'],
    ];
    insertions[`${CONTRACTS}/index.ts`] = [
      [`export { ${code} } from './${name}/contract.ts';\n`, "export { workspace } from './workspace/contract.ts';"],
    ];
  }
  const texts = Object.entries(insertions).map(([file, parts]) => [file, inserted(root, file, parts)]);
  return Object.fromEntries([...texts, [`${EMBEDDED}/package.json`, depending(root, name)]]);
}

/** The manifest of the launcher with the new dependency. */
function depending(root: string, name: string): string {
  const manifest = JSON.parse(readFileSync(`${root}${EMBEDDED}/package.json`, 'utf8')) as { dependencies: Record<string, string> };
  const dependencies = Object.entries({ ...manifest.dependencies, [`@switchyard/${name}`]: '0.1.0' }).sort(([a], [b]) => (a < b ? -1 : 1));
  return `${JSON.stringify({ ...manifest, dependencies: Object.fromEntries(dependencies) }, null, 2)}\n`;
}

function inserted(root: string, file: string, parts: readonly Insertion[]): string {
  let content = readFileSync(`${root}${file}`, 'utf8');
  for (const [text, before] of parts) {
    const [head, tail, ...more] = content.split(before);
    if (head === undefined || tail === undefined || more.length > 0) {
      throw new Error(`${file} no longer has ${JSON.stringify(before)} once: say in scripts/new-service/register.ts where a service goes.`);
    }
    content = head + text + before + tail;
  }
  return content;
}
