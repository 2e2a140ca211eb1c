import { Field } from './Field.tsx';

interface SharedFieldProps {
  isShared: boolean;
  onChange: (isShared: boolean) => void;
  error: string | undefined;
}

/** Whether the skill belongs to every agent. */
export function SharedField({ isShared, onChange, error }: SharedFieldProps) {
  return (
    <Field label="Shared with every agent" error={error}>
      {(attributes) => <input type="checkbox" checked={isShared} onChange={(event) => onChange(event.target.checked)} {...attributes} />}
    </Field>
  );
}
