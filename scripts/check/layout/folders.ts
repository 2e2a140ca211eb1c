import { dirname, join, normalize } from 'node:path';
import ts from 'typescript';

const MAX_FILES_PER_FOLDER = 25;
const TEST_CODE = /\.(?:test|contract|fixture|bench)\.ts$/;

export interface SourceFile {
  path: string;
  source: string;
}

/**
 * Finds folders of production code that are too large, and pairs of folders of one package that import each other.
 * Each fault is one line: `libs/x/src/a: more than 25 files`, or `libs/x/src/a <-> libs/x/src/b`.
 */
export function findLayoutFaults(files: readonly SourceFile[]): string[] {
  const production = files.filter(({ path }) => /^(?:libs|services)\//.test(path) && path.endsWith('.ts') && !TEST_CODE.test(path));
  const faults: string[] = [];
  for (const [folder, members] of Object.entries(Object.groupBy(production, ({ path }) => dirname(path))))
    if ((members?.length ?? 0) > MAX_FILES_PER_FOLDER) faults.push(`${folder}: more than ${MAX_FILES_PER_FOLDER} files`);
  const imports = new Set(production.flatMap(listFolderImports));
  for (const edge of imports) {
    const [from = '', to = ''] = edge.split(' ');
    if (from < to && imports.has(`${to} ${from}`)) faults.push(`${from} <-> ${to}`);
  }
  return faults.toSorted();
}

/** Lists the other folders that a file imports by a relative path, each as "from to". */
function listFolderImports({ path, source }: SourceFile): string[] {
  const from = dirname(path);
  return ts
    .preProcessFile(source)
    .importedFiles.map(({ fileName }) => fileName)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => dirname(normalize(join(from, specifier))))
    .filter((to) => to !== from)
    .map((to) => `${from} ${to}`);
}
