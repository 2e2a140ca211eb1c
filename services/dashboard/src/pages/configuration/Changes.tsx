import type { CallParams } from '@switchyard/client';
import { describeField, findSchema } from '../../editor/json-schema.ts';
import { isTree } from '../../editor/merge-patch.ts';
import { Loaded } from '../../parts/Loaded.tsx';
import { formatValue } from '../../parts/format.ts';
import { useCall } from '../../parts/use-call.ts';

/** The settings that differ between two versions, with their old and new values, and the same as a unified diff. */
export function Changes(params: CallParams<'config.diff'>) {
  const difference = useCall('config.diff', params, ['config:patched']);
  return (
    <Loaded query={difference}>
      {({ diff, changes = [] }) =>
        diff === '' ? (
          <p className="empty">No difference.</p>
        ) : (
          <>
            <ul>
              {changes.map(({ path, before, after }) => (
                <li key={path}>
                  <code>{path}</code>: <Value path={path} value={before} /> → <Value path={path} value={after} />
                </li>
              ))}
            </ul>
            <pre tabIndex={0}>{diff}</pre>
          </>
        )
      }
    </Loaded>
  );
}

/** A value that is not stored comes from a file, a variable, or the default. */
function Value({ path, value }: { path: string; value: unknown }) {
  const schemas = useCall('config.schema', {});
  if (value !== undefined) return <strong>{formatValue(value)}</strong>;
  const [section = '', ...names] = path.split('.');
  const root = schemas.data?.schema[section];
  const preset = isTree(root) ? describeField(root, findSchema(root, names)).default : undefined;
  return <>{preset === undefined ? 'not set' : `not set (default ${formatValue(preset)})`}</>;
}
