import { useId, useState } from 'react';
import { describeField, type Field } from './json-schema.ts';
import { isTree, type Tree } from './merge-patch.ts';

export interface SchemaFormProps {
  /** The document in which references are resolved. */
  root: Tree;
  schema: Tree;
  name: string;
  value: unknown;
  onChange: (value: unknown) => void;
  /** Returns why a key cannot be changed here, by its dotted path. */
  getLock: (path: string) => string | undefined;
  path: string;
}

/** A form for one value of a JSON Schema. Objects are folded, except for the outermost one. */
export function SchemaForm(props: SchemaFormProps) {
  const field = describeField(props.root, props.schema);
  if (field.kind !== 'object') return <Leaf {...props} field={field} />;
  const value = isTree(props.value) ? props.value : {};
  const names = Object.keys({ ...field.properties, ...value });
  return (
    <>
      {names.map((name) => {
        const schema = field.properties[name] ?? {};
        const path = `${props.path}.${name}`;
        const inner = {
          ...props,
          schema,
          name,
          path,
          value: value[name],
          onChange: (next: unknown) => props.onChange(setKey(value, name, next)),
        };
        if (describeField(props.root, schema).kind !== 'object') return <SchemaForm key={name} {...inner} />;
        return <Group key={name} {...inner} />;
      })}
    </>
  );
}

/** The fields of a folded object are created when it is opened for the first time. */
function Group(props: SchemaFormProps) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details onToggle={(event) => setIsOpen((before) => before || event.currentTarget.open)}>
      <summary>{props.name}</summary>
      {isOpen && (
        <fieldset>
          <legend className="hidden">{props.path}</legend>
          <SchemaForm {...props} />
        </fieldset>
      )}
    </details>
  );
}

/** A key without a value is left out, so that its default is in force. */
function setKey(value: Tree, name: string, next: unknown): Tree {
  const { [name]: _previous, ...rest } = value;
  return next === undefined ? rest : { ...value, [name]: next };
}

function Leaf({ field, name, value, onChange, getLock, path }: SchemaFormProps & { field: Field }) {
  const id = useId();
  const lock = getLock(path);
  const hint = [field.description, field.default === undefined ? undefined : `default: ${JSON.stringify(field.default)}`, lock]
    .filter((part) => part !== undefined)
    .join('; ');
  return (
    <div className="field">
      <label htmlFor={id}>{name}</label>
      <Input id={id} field={field} value={value} onChange={onChange} disabled={lock !== undefined} describedBy={`${id}-hint`} />
      <p id={`${id}-hint`} className="age">
        {hint}
      </p>
    </div>
  );
}

interface InputProps {
  id: string;
  field: Field;
  value: unknown;
  onChange: (value: unknown) => void;
  disabled: boolean;
  describedBy: string;
}

function Input({ id, field, value, onChange, disabled, describedBy }: InputProps) {
  const common = { id, disabled, 'aria-describedby': describedBy };
  switch (field.kind) {
    case 'boolean':
    case 'enum': {
      const options = field.kind === 'enum' ? field.options : ['true', 'false'];
      const read = (text: string): unknown => (text === '' ? undefined : field.kind === 'enum' ? text : text === 'true');
      return (
        <select
          {...common}
          value={typeof value === 'string' || typeof value === 'boolean' ? String(value) : ''}
          onChange={(event) => onChange(read(event.target.value))}
        >
          <option value="">not set</option>
          {options.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      );
    }
    case 'number':
      return (
        <input
          {...common}
          type="number"
          step="any"
          min={field.minimum}
          max={field.maximum}
          value={typeof value === 'number' ? value : ''}
          onChange={(event) => onChange(event.target.value === '' ? undefined : Number(event.target.value))}
        />
      );
    case 'string':
      return (
        <input
          {...common}
          value={typeof value === 'string' ? value : ''}
          autoComplete="off"
          onChange={(event) => onChange(event.target.value === '' && value === undefined ? undefined : event.target.value)}
        />
      );
    default:
      return <JsonInput {...common} value={value} onChange={onChange} />;
  }
}

interface JsonInputProps {
  id: string;
  disabled: boolean;
  'aria-describedby': string;
  value: unknown;
  onChange: (value: unknown) => void;
}

/** A value as JSON. The text is kept while it is invalid, and the value changes when it is valid again. */
function JsonInput({ value, onChange, ...common }: JsonInputProps) {
  const shown = value === undefined ? '' : JSON.stringify(value, undefined, 2);
  const [typed, setTyped] = useState<{ text: string; shown: string }>();
  const [failure, setFailure] = useState('');
  const text = typed?.shown === shown || failure !== '' ? (typed?.text ?? shown) : shown;
  const type = (next: string): void => {
    try {
      const parsed: unknown = next.trim() === '' ? undefined : JSON.parse(next);
      setFailure('');
      setTyped({ text: next, shown: parsed === undefined ? '' : JSON.stringify(parsed, undefined, 2) });
      onChange(parsed);
    } catch (error) {
      setTyped({ text: next, shown });
      setFailure((error as Error).message);
    }
  };
  return (
    <>
      <textarea
        {...common}
        rows={Math.min(8, text.split('\n').length)}
        spellCheck={false}
        value={text}
        onChange={(event) => type(event.target.value)}
      />
      {failure && <span role="alert">No valid JSON, so the value is unchanged: {failure}</span>}
    </>
  );
}
