import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Configuration, ServiceError } from '@switchyard/contracts';
import { createDocumentParser } from '../../services/media/src/processes/parser-process.ts';
import { readReference } from './reference-text.ts';
import { countFound } from './word-recall.ts';

/**
 * Reads the test corpus of Apache Tika (`make test-documents`) and compares the words with those of Tika. Maven downloads both, 250 MB;
 * Java runs Tika. Each file must end as a text or as a named refusal or limit. For each type two shares of words are reported: of all words of
 * Tika, which opens documents inside of documents and lists what no reader sees, and of those of the pages. The second one is judged.
 */
const VERSION = '1.28.5';
const HOME = join('.tools', `tika-${VERSION}`);
const CORPUS = join(HOME, 'test-documents');
const REFERENCE = join(HOME, 'reference');
const MAX_BYTES = 10 * 1024 * 1024;
const LIMITS = { tenant: 'corpus', timeoutMs: 30_000, mode: 'document', maxChars: 2_000_000, maxPages: 1_000 } as const;
/** Half of the documents of each of these types must have this share of the words, and files with a smaller share are listed. */
const GOOD_RECALL = 0.95;
const JUDGED_TYPES = /pdf|wordprocessingml|presentationml|spreadsheetml|opendocument\.text|epub|html|svg/;
const MIN_FILES = 800;
const { allowedMimes: allowedTypes } = Configuration.parse({}).media.documentExtraction;

interface Outcome {
  file: string;
  /** A media type, or the reason of a refusal. */
  result: string;
  /** Share of the words that a reader sees, and of all words of Tika. */
  recall?: number;
  fullRecall?: number;
  isNamed: boolean;
}

download();
const outcomes = await readAll();
report(outcomes);

function download(): void {
  if (!existsSync(CORPUS)) {
    mkdirSync(HOME, { recursive: true });
    for (const artifact of [`tika-parsers:${VERSION}:jar:tests`, `tika-app:${VERSION}`]) {
      const copy = ['-q', 'dependency:copy', `-Dartifact=org.apache.tika:${artifact}`, `-DoutputDirectory=${HOME}`];
      execFileSync('mvn', copy, { stdio: ['ignore', 'inherit', 'inherit'] });
    }
    execFileSync('jar', ['xf', `tika-parsers-${VERSION}-tests.jar`, 'test-documents'], { cwd: HOME });
  }
  if (existsSync(REFERENCE)) return;
  console.log('Tika reads the corpus, some two minutes …');
  const batch = [
    '-Xmx700m',
    '-jar',
    join(HOME, `tika-app-${VERSION}.jar`),
    '-J',
    '-x',
    '-i',
    CORPUS,
    '-o',
    REFERENCE,
    '-numConsumers',
    '1',
  ];
  execFileSync('java', batch, { stdio: 'ignore' });
}

async function readAll(): Promise<Outcome[]> {
  const parser = createDocumentParser({ warn: (fields, message) => console.error(message, fields) });
  const files = (readdirSync(CORPUS, { recursive: true }) as string[]).filter((file) => statSync(join(CORPUS, file)).isFile());
  const found: Outcome[] = [];
  const pending = files.toReversed();
  async function work(): Promise<void> {
    for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
      found.push(await readOne(file));
      if (process.stdout.isTTY) process.stdout.write(`\r${found.length} of ${files.length} files`);
    }
  }
  await Promise.all([work(), work()]);
  return found;

  async function readOne(file: string): Promise<Outcome> {
    const bytes = readFileSync(join(CORPUS, file));
    if (bytes.length > MAX_BYTES) return { file, result: 'FILE_TOO_LARGE', isNamed: true };
    try {
      const options = { ...LIMITS, signal: new AbortController().signal, allowedTypes };
      const { text, mimeType } = await parser.parse(bytes, options);
      const path = join(REFERENCE, `${file}.json`);
      if (!existsSync(path)) return { file, result: mimeType, isNamed: true };
      const { all, visible } = readReference(readFileSync(path, 'utf8'), mimeType);
      const shares = { recall: share(text, visible), fullRecall: share(text, all) };
      return { file, result: mimeType, isNamed: true, ...(Number.isFinite(shares.recall) && shares) };
    } catch (error) {
      const reason = error instanceof ServiceError ? error.details?.['reason'] : undefined;
      return { file, result: typeof reason === 'string' ? reason : String(error), isNamed: typeof reason === 'string' };
    }
  }
}

/** NaN if the reference has no words. */
function share(text: string, reference: string): number {
  const { found, words } = countFound(text, reference);
  return found / words;
}

function median(values: readonly number[]): number | undefined {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}

function percent(part: number): string {
  return `${(100 * part).toFixed(0)} %`;
}

function report(found: readonly Outcome[]): void {
  const problems = found.filter(({ isNamed }) => !isNamed).map(({ file, result }) => `${file}: ${result}`);
  if (found.length < MIN_FILES) problems.push(`only ${found.length} files were read`);
  for (const [type, files] of Map.groupBy(found, ({ result }) => result)) {
    const half = median(files.flatMap(({ recall }) => recall ?? []));
    const fullHalf = median(files.flatMap(({ fullRecall }) => fullRecall ?? []));
    const shares =
      half === undefined || fullHalf === undefined
        ? ''
        : `, half have at least ${percent(half)} of the words that a reader sees, ${percent(fullHalf)} of all`;
    console.log(`${String(files.length).padStart(4)}  ${type}${shares}`);
    if (half !== undefined && half < GOOD_RECALL && JUDGED_TYPES.test(type)) problems.push(`${type}: only ${percent(half)}`);
  }
  for (const { file, recall } of found.filter(({ recall = 1 }) => recall < GOOD_RECALL))
    console.log(`      ${recall?.toFixed(2)}  ${file}`);
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
