import type { MethodName } from '@switchyard/contracts';
import { useRef, useState, type ReactNode } from 'react';
import { useMay } from '../session/presence.ts';
import { describeError } from './format.ts';

interface ConfirmProps {
  /** The button that opens the dialog. */
  label: string;
  /** What the operator types to confirm. */
  name: string;
  /** The method of the action. Without its scope the button is absent. */
  needs?: MethodName;
  /** What is removed. It is rendered while the dialog is open. */
  children: ReactNode;
  run: () => Promise<unknown>;
}

/** A button for a destructive action. It runs after the operator has typed the name. */
export function Confirm({ label, name, needs, children, run }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setIsOpen] = useState(false);
  const [typed, setTyped] = useState('');
  const [failure, setFailure] = useState('');
  const isAllowed = useMay(needs);
  const open = (): void => {
    setIsOpen(true);
    dialog.current?.showModal();
  };
  const confirm = async (): Promise<void> => {
    try {
      await run();
      dialog.current?.close();
    } catch (error) {
      setFailure(describeError(error));
    }
  };
  if (!isAllowed) return undefined;
  return (
    <>
      <button type="button" className="danger" onClick={open}>
        {label}
      </button>
      <dialog
        ref={dialog}
        aria-label={`${label} ${name}`}
        onClose={() => {
          setIsOpen(false);
          setTyped('');
          setFailure('');
        }}
      >
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void confirm();
          }}
        >
          <div>{isOpen && children}</div>
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
