import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const OPERATIONS = ['get', 'insert', 'replace', 'update', 'claim', 'find', 'count', 'remove'];
/** Operations that always name the key. */
const BY_KEY = ['get', 'insert', 'replace'];
/** Operators that match more than the listed values. */
const OPEN = ['lt', 'lte', 'gt', 'gte', 'ne', 'exists', 'has', 'lacks'];

/** A query in the code. */
export interface Query {
  file: string;
  collection: string;
  operation: string;
  /** Fields that its filter always names, sorted. */
  fields: readonly string[];
  /** Whether it reads documents of one tenant. */
  tenant: boolean;
  /** Whether it names the keys of its documents. */
  key: boolean;
}

/** Finds every query of the services by the types of the code, wherever its filter is built. */
export function findQueries(): Query[] {
  const program = openProgram();
  const checker = program.getTypeChecker();
  const sources = program.getSourceFiles().filter(({ fileName }) => isProduction(relative(ROOT, fileName)));
  const collections = sources.flatMap((source) => getCollections(source, checker));
  return sources.flatMap((source) =>
    callsIn(source).flatMap((call) => {
      const documents = ts.isPropertyAccessExpression(call.expression) && getDocuments(checker, call.expression.expression);
      const operation = ts.isPropertyAccessExpression(call.expression) ? call.expression.name.text : '';
      if (!documents || !OPERATIONS.includes(operation)) return [];
      const collection = collections.find(({ shape }) => shape === getShape(documents.type));
      const named = BY_KEY.includes(operation) ? [] : namedIn(checker, call.arguments[0]);
      return {
        file: relative(ROOT, source.fileName),
        collection: collection?.name ?? 'any',
        operation,
        fields: named.map(({ name }) => name).toSorted(),
        tenant: !documents.across || named.some(({ name, exact }) => name === 'tenant' && exact),
        key: BY_KEY.includes(operation) || named.some(({ name, exact }) => name === collection?.key && exact),
      };
    }),
  );
}

function openProgram(): ts.Program {
  const { config } = ts.readConfigFile(`${ROOT}tsconfig.json`, (file) => readFileSync(file, 'utf8')) as { config: object };
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  return ts.createProgram(
    fileNames.filter((file) => isProduction(relative(ROOT, file))),
    options,
  );
}

function isProduction(file: string): boolean {
  return /^services\/[^/]+\/src\//.test(file) && !/\.(test|fixture|contract)\.ts$/.test(file);
}

function callsIn(node: ts.Node): ts.CallExpression[] {
  const calls: ts.CallExpression[] = [];
  const visit = (one: ts.Node): void => {
    if (ts.isCallExpression(one)) calls.push(one);
    ts.forEachChild(one, visit);
  };
  visit(node);
  return calls;
}

interface Declared {
  name: string;
  key: string;
  shape: string;
}

/** A declaration `collection({ name, schema, key })`. */
function getCollections(source: ts.SourceFile, checker: ts.TypeChecker): Declared[] {
  return callsIn(source).flatMap((call) => {
    const [spec] = call.arguments;
    if (!ts.isIdentifier(call.expression) || call.expression.text !== 'collection' || !spec || !ts.isObjectLiteralExpression(spec))
      return [];
    const valueOf = (field: string): ts.Expression | undefined =>
      spec.properties.flatMap((one) => (ts.isPropertyAssignment(one) && one.name.getText() === field ? [one.initializer] : []))[0];
    const [name, key, schema] = [valueOf('name'), valueOf('key'), valueOf('schema')];
    if (!name || !key || !schema || !ts.isStringLiteral(name) || !ts.isStringLiteral(key)) return [];
    const output = checker.getTypeAtLocation(schema).getProperty('_output');
    return output ? [{ name: name.text, key: key.text, shape: getShape(checker.getTypeOfSymbolAtLocation(output, schema)) }] : [];
  });
}

/** Document types are distinguished by their fields. */
function getShape(type: ts.Type): string {
  return type
    .getProperties()
    .map(({ name }) => name)
    .filter((name) => name !== 'tenant')
    .toSorted()
    .join(' ');
}

/** The document type of an expression: `Documents<D>` or the result of `system()`. */
function getDocuments(checker: ts.TypeChecker, expression: ts.Expression): { type: ts.Type; across: boolean } | undefined {
  const type = checker.getTypeAtLocation(expression);
  const across = type.aliasSymbol?.name === 'Omit';
  const whole = across ? type.aliasTypeArguments?.[0] : type;
  if (whole?.getSymbol()?.name !== 'Documents') return undefined;
  const [document] = checker.getTypeArguments(whole as ts.TypeReference);
  return document && { type: document, across };
}

interface Named {
  name: string;
  /** Whether it compares with values and not with a range. */
  exact: boolean;
}

/** Fields that a filter always names. Optional fields do not count. */
function namedIn(checker: ts.TypeChecker, filter: ts.Expression | undefined): Named[] {
  if (filter === undefined) return [];
  return checker
    .getTypeAtLocation(filter)
    .getProperties()
    .filter(({ flags }) => (flags & ts.SymbolFlags.Optional) === 0)
    .map((symbol) => {
      const type = checker.getTypeOfSymbolAtLocation(symbol, filter);
      const isOpen = type.isUnion() ? type.types.some(isRange) : isRange(type);
      return { name: symbol.name, exact: !isOpen && (type.flags & (ts.TypeFlags.Null | ts.TypeFlags.Undefined)) === 0 };
    });
}

function isRange(type: ts.Type): boolean {
  return (type.flags & ts.TypeFlags.Object) !== 0 && type.getProperties().some(({ name }) => OPEN.includes(name));
}
