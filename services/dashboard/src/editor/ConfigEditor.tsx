import { useQuery } from '@tanstack/react-query';
import { Loaded } from '../parts/Loaded.tsx';
import { useCall, useInvalidation } from '../parts/use-call.ts';
import { useSearchText } from '../parts/use-search.ts';
import { CodeEditor } from './CodeEditor.tsx';
import { ConfigWrite } from './ConfigWrite.tsx';
import { readConfigState, type ConfigState } from './config-state.ts';
import { compareDraft, formatJson, parseDraft } from './draft.ts';
import { setDraft, useConfigDraft } from './drafts.ts';
import { findSchema } from './json-schema.ts';
import { getAt, isTree, type Tree } from './merge-patch.ts';
import { SchemaForm } from './SchemaForm.tsx';
import { ThreeVersions } from './ThreeVersions.tsx';

/** The query of the configuration, which each write invalidates. */
const CONFIG_STATE = ['config.state'];

/** Edits the value at a path of the configuration, as a form or as text. The first name of the path is a section. */
export function ConfigEditor({ path }: { path: readonly [section: string, ...names: string[]] }) {
  useInvalidation(CONFIG_STATE, ['config:patched', 'agent:hot_added']);
  const state = useQuery({ queryKey: CONFIG_STATE, queryFn: ({ signal }) => readConfigState(signal) });
  const schemas = useCall('config.schema', {});
  return (
    <Loaded query={schemas}>
      {({ schema }) => <Loaded query={state}>{(inForce) => <Editor path={path} schemas={schema} inForce={inForce} />}</Loaded>}
    </Loaded>
  );
}

interface EditorProps {
  path: readonly [section: string, ...names: string[]];
  schemas: Tree;
  inForce: ConfigState;
}

function Editor({ path, schemas, inForce: { head, config, origins } }: EditorProps) {
  const name = path.join('.');
  const draft = useConfigDraft(name);
  const [mode, setMode] = useSearchText('as');
  const value = getAt(config, path);
  const original = formatJson(value);
  const edit = (text: string): void => {
    const base = draft ?? { baseSha: head?.sha, baseValue: value };
    setDraft(name, text === formatJson(base.baseValue) ? undefined : { ...base, text });
  };
  const standing = draft && compareDraft(draft, head?.sha, value);
  return (
    <>
      <p className="tools" role="group" aria-label="View">
        {['form', 'text'].map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={(mode === 'text' ? 'text' : 'form') === one}
            onClick={() => setMode(one === 'form' ? '' : one)}
          >
            {one === 'form' ? 'Form' : 'Text'}
          </button>
        ))}
        <span className="age">
          {head === undefined ? 'No version is stored yet.' : `In force: ${head.sha.slice(0, 12)} by ${head.author ?? 'unknown'}`}
        </span>
      </p>
      {draft && standing?.kind === 'concurrent' && (
        <ThreeVersions name={name} draft={draft} conflicts={standing.conflicts} head={head} inForce={value} />
      )}
      {mode === 'text' ? (
        <CodeEditor
          label={`${name} as JSON`}
          text={draft?.text ?? original}
          original={formatJson(draft?.baseValue ?? value)}
          onChange={edit}
        />
      ) : (
        <Form
          path={path}
          schemas={schemas}
          origins={origins}
          draftText={draft?.text}
          value={value}
          onChange={(next) => edit(formatJson(next))}
        />
      )}
      {draft && <ConfigWrite path={path} draft={draft} head={head?.sha} isConcurrent={standing?.kind === 'concurrent'} />}
    </>
  );
}

interface FormProps {
  path: readonly string[];
  schemas: Tree;
  origins: ConfigState['origins'];
  draftText: string | undefined;
  value: unknown;
  onChange: (value: unknown) => void;
}

function Form({ path, schemas, origins, draftText, value, onChange }: FormProps) {
  const parsed = draftText === undefined ? { value } : parseDraft({ text: draftText });
  if ('failure' in parsed) return <p role="alert">{parsed.failure}. Correct it in the text.</p>;
  const [section = '', ...names] = path;
  const root = schemas[section];
  if (!isTree(root)) return <p className="empty">This key has no schema. Edit it as text.</p>;
  const getLock = (key: string): string | undefined => {
    const { layer, from = '' } = origins[key] ?? {};
    return layer === 'environment' ? `set by the environment: ${from}` : undefined;
  };
  return (
    <SchemaForm
      root={root}
      schema={findSchema(root, names)}
      name={path.at(-1) ?? ''}
      path={path.join('.')}
      value={parsed.value}
      onChange={onChange}
      getLock={getLock}
    />
  );
}
