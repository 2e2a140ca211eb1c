import { useId, type ReactNode } from 'react';

interface FieldProps {
  label: string;
  /** Why the value was refused. */
  error: string | undefined;
  /** Renders the input with the attributes that connect it to the error. */
  children: (attributes: { 'aria-invalid': boolean; 'aria-describedby': string | undefined }) => ReactNode;
}

/** An input with its label, and the error that a call reported for it. */
export function Field({ label, error, children }: FieldProps) {
  const id = useId();
  return (
    <>
      <label>
        {label} {children({ 'aria-invalid': error !== undefined, 'aria-describedby': error === undefined ? undefined : id })}
      </label>
      {error !== undefined && (
        <p id={id} role="alert" className="notice">
          {error}
        </p>
      )}
    </>
  );
}
