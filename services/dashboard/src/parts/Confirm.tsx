import { useRef, useState, type ReactNode } from 'react';
import { describeError } from './format.ts';

interface ConfirmProps {
  /** The button that opens the dialog. */
  label: string;
  /** What the operator types to confirm. */
  name: string;
  /** What is removed. */
  children: ReactNode;
  run: () => Promise<unknown>;
}

/** A button for a destructive action. It runs after the operator has typed the name. */
export function Confirm({ label, name, children, run }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState('');
  const [failure, setFailure] = useState('');
  const confirm = async (): Promise<void> => {
    try {
      await run();
      dialog.current?.close();
    } catch (error) {
      setFailure(describeError(error));
    }
  };
  return (
    <>
      <button type="button" className="danger" onClick={() => dialog.current?.showModal()}>
        {label}
      </button>
      <dialog ref={dialog} aria-label={`${label} ${name}`} onClose={() => setTyped('')}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void confirm();
          }}
        >
          <div>{children}</div>
          <label>
            Type <code>{name}</code> to confirm
            <input value={typed} onChange={(event) => setTyped(event.target.value)} autoComplete="off" />
          </label>
          {failure && <p role="alert">{failure}</p>}
          <p className="tools">
            <button type="submit" className="danger" disabled={typed !== name}>
              {label}
            </button>
            <button type="button" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
          </p>
        </form>
      </dialog>
    </>
  );
}
