import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { usePaletteItems, type PaletteItem } from './palette-items.ts';

const MAX_RESULTS = 50;

/** A dialog that finds pages, agents, sessions, settings and methods by parts of their names. Ctrl+K or ⌘K opens it from everywhere. */
export function Palette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setIsOpen] = useState(false);
  const [text, setText] = useState('');
  const navigate = useNavigate();
  const open = (): void => {
    setIsOpen(true);
    if (dialog.current?.open === false) dialog.current.showModal();
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 'k' || !(event.metaKey || event.ctrlKey)) return;
      event.preventDefault();
      open();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  const words = text.toLowerCase().split(/\s+/);
  const found = usePaletteItems(isOpen).filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
  const shown = found.slice(0, MAX_RESULTS);
  const go = ({ path, search }: PaletteItem): void => {
    dialog.current?.close();
    void navigate({ to: path, search });
  };
  return (
    <>
      <button type="button" onClick={open}>
        Find (Ctrl K)
      </button>
      <dialog
        ref={dialog}
        aria-label="Find"
        onClose={() => {
          setIsOpen(false);
          setText('');
        }}
      >
        <form
          onSubmit={(event) => {
            event.preventDefault();
            const [first] = shown;
            if (first) go(first);
          }}
        >
          <label>
            Page, agent, session, setting or method{' '}
            <input value={text} onChange={(event) => setText(event.target.value)} autoComplete="off" />
          </label>
        </form>
        <ul className="plain-list">
          {shown.map((item) => (
            <li key={`${item.path} ${item.label} ${JSON.stringify(item.search)}`}>
              <button type="button" className="plain" onClick={() => go(item)}>
                <bdi>{item.label}</bdi>
              </button>
            </li>
          ))}
        </ul>
        {found.length > shown.length && <p className="age">{found.length - shown.length} more. Type another part of the name.</p>}
      </dialog>
    </>
  );
}
