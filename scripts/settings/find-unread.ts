import ts from 'typescript';

/** A setting or a group of settings, with its declarations in the contracts. */
interface Key {
  /** Dotted; `*` stands for an id or for each entry of a list. */
  path: string;
  declaration: ts.Node;
  below: Key[];
}

export interface Readers {
  /** Files whose accesses do not count, because they apply no setting. */
  ignored: readonly string[];
  /** Settings that are read with everything below them, in a way that the compiler cannot see. */
  readWhole: readonly string[];
}

/** Declared settings, and those that no production code reads. */
export interface Found {
  /** All keys, including groups. */
  declared: string[];
  /** Topmost unread keys. Keys below them are unread as well. */
  unread: string[];
  /** Entries of `Readers` without effect; they can be deleted. */
  needless: string[];
}

const DECLARED_IN = /\/libs\/contracts\/src\/config\/[^/]+\.ts$/;
const SECTIONS_FILE = '/libs/contracts/src/config/sections.ts';
const PRODUCTION = /\/(libs|services)\/[^/]+\/src\//;
const NO_READER = /\.(test|contract|fixture|bench)\.ts$|\/libs\/(contracts|testkit)\//;

/**
 * Asks the compiler for the declaration of each property that production code accesses. A setting is read when it and all groups above
 * it are accessed. Groups that share the declarations of their keys are thus distinguished by their own names.
 */
export function findUnread(root: string, { ignored, readWhole }: Readers): Found {
  const program = ts.createProgram(...getSources(root));
  const checker = program.getTypeChecker();
  const keys = getKeys(sectionsType(program, checker), checker);
  const all = flatten(keys);
  const names = new Set(all.map(({ path }) => path.slice(path.lastIndexOf('.') + 1)));
  const readIn = (file: ts.SourceFile | undefined): ts.Node[] => (file === undefined ? [] : declarationsRead(file, checker, names));
  const readers = program.getSourceFiles().filter(({ fileName }) => isReader(fileName) && !ignored.includes(fileName.slice(root.length)));
  const read = new Set(readers.flatMap(readIn));
  const isRead = ({ path, declaration }: Key): boolean => read.has(declaration) || readWhole.some((fullText) => isWithin(path, fullText));
  return {
    declared: all.map(({ path }) => path),
    unread: topmost(keys, (key) => !isRead(key)).toSorted(),
    needless: [
      ...ignored.filter((file) => readIn(program.getSourceFile(`${root}${file}`)).length === 0),
      ...readWhole.filter((whole) => !all.some(({ path, declaration }) => isWithin(path, whole) && !read.has(declaration))),
    ],
  };
}

function isWithin(path: string, whole: string): boolean {
  return path === whole || path.startsWith(`${whole}.`);
}

function getSources(root: string): [files: string[], options: ts.CompilerOptions] {
  const config = ts.getParsedCommandLineOfConfigFile(`${root}tsconfig.json`, {}, { ...ts.sys, onUnRecoverableConfigFileDiagnostic: fail });
  const files = (config?.fileNames ?? []).filter((file) => isReader(file) || file.endsWith(SECTIONS_FILE));
  return [files, config?.options ?? {}];
}

function isReader(file: string): boolean {
  return PRODUCTION.test(file) && !NO_READER.test(file);
}

function sectionsType(program: ts.Program, checker: ts.TypeChecker): ts.Type {
  const file = program.getSourceFiles().find(({ fileName }) => fileName.endsWith(SECTIONS_FILE));
  const alias = file?.statements.find((statement) => ts.isTypeAliasDeclaration(statement) && statement.name.text === 'Sections');
  if (alias === undefined) throw new Error(`the type Sections is not declared in ${SECTIONS_FILE} any more`);
  return checker.getTypeAtLocation(alias);
}

/** The keys of an object type that the contracts declare, with the keys below them. */
function getKeys(type: ts.Type, checker: ts.TypeChecker, prefix = ''): Key[] {
  const bare = checker.getNonNullableType(type);
  const entry = checker.isArrayType(bare) ? checker.getTypeArguments(bare as ts.TypeReference)[0] : bare.getStringIndexType();
  if (entry !== undefined) return getKeys(entry, checker, `${prefix}*.`);
  if (bare.isUnion()) return [];
  return bare.getProperties().flatMap((property) => {
    const declaration = property.declarations?.find((node) => DECLARED_IN.test(node.getSourceFile().fileName));
    if (declaration === undefined) return [];
    const path = `${prefix}${property.name}`;
    return [{ path, declaration, below: getKeys(checker.getTypeOfSymbol(property), checker, `${path}.`) }];
  });
}

/** Finds `a.name`, `a['name']` and the destructuring `{ name }` where the name is that of a setting. */
function declarationsRead(file: ts.SourceFile, checker: ts.TypeChecker, names: ReadonlySet<string>): ts.Node[] {
  const matches: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    const taken = propertyTaken(node);
    if (taken !== undefined && names.has(taken.name)) {
      const type = checker.getNonNullableType(checker.getTypeAtLocation(taken.from));
      matches.push(...(type.getProperty(taken.name)?.declarations ?? []));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return matches;
}

interface Taken {
  from: ts.Node;
  name: string;
}

function propertyTaken(node: ts.Node): Taken | undefined {
  if (ts.isPropertyAccessExpression(node)) return { from: node.expression, name: node.name.text };
  if (ts.isElementAccessExpression(node) && ts.isStringLiteralLike(node.argumentExpression)) {
    return { from: node.expression, name: node.argumentExpression.text };
  }
  if (!ts.isBindingElement(node) || !ts.isObjectBindingPattern(node.parent) || node.dotDotDotToken !== undefined) return undefined;
  const name = node.propertyName ?? node.name;
  return ts.isIdentifier(name) ? { from: node.parent, name: name.text } : undefined;
}

function flatten(keys: readonly Key[]): Key[] {
  return keys.flatMap((key) => [key, ...flatten(key.below)]);
}

function topmost(keys: readonly Key[], wanted: (key: Key) => boolean): string[] {
  return keys.flatMap((key) => (wanted(key) ? [key.path] : topmost(key.below, wanted)));
}

function fail(diagnostic: ts.Diagnostic): never {
  throw new Error(ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n'));
}
