import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { Action } from '../../parts/Action.tsx';
import { describeError, formatCount, formatSome } from '../../parts/format.ts';
import { call } from '../../session/client.ts';
import { readChosenFiles, type ChosenFiles } from './chosen-files.ts';
import { Field } from './Field.tsx';
import { useFieldErrors } from './field-errors.ts';
import { SharedField } from './SharedField.tsx';
import { getPlace } from './skill-place.ts';

/** Uploads the text files of a folder of this computer. */
export function UploadSkill({ agentId }: { agentId: string }) {
  const input = useRef<HTMLInputElement>(null);
  const [chosen, setChosen] = useState<ChosenFiles>();
  const [failure, setFailure] = useState<string>();
  const [name, setName] = useState('');
  const [isShared, setIsShared] = useState(false);
  const [uploaded, setUploaded] = useState('');
  const { errors, submit } = useFieldErrors(['name', 'files', 'scope']);
  const cache = useQueryClient();
  const choose = async (list: readonly File[]): Promise<void> => {
    const read = await readChosenFiles(list).catch((error: unknown) => describeError(error));
    // Another folder may have been chosen meanwhile.
    if (input.current?.files?.[0] !== list[0]) return;
    setChosen(typeof read === 'string' ? undefined : read);
    setFailure(typeof read === 'string' ? read : undefined);
    if (typeof read !== 'string') setName(read.name);
  };
  const upload = async (): Promise<void> => {
    setUploaded('');
    await call('skills.upload', { name, files: chosen?.files ?? [], ...getPlace(agentId, isShared) });
    if (input.current) input.current.value = '';
    setChosen(undefined);
    setName('');
    setUploaded(name);
    await cache.invalidateQueries({ queryKey: ['skills.list'] });
  };
  return (
    <>
      <Field label="Folder with SKILL.md" error={failure ?? errors['files']}>
        {(attributes) => (
          <input
            ref={input}
            type="file"
            multiple
            webkitdirectory=""
            onChange={(event) => void choose([...(event.target.files ?? [])])}
            {...attributes}
          />
        )}
      </Field>
      {chosen && (
        <p role="status">
          {formatCount(chosen.files.length)} text files, {formatCount(chosen.chars)} characters.
          {chosen.skipped.length > 0 && ` Skipped, because they are hidden or binary: ${formatSome(chosen.skipped)}.`}
        </p>
      )}
      <Field label="Name, as in SKILL.md" error={errors['name']}>
        {(attributes) => <input value={name} onChange={(event) => setName(event.target.value)} autoComplete="off" {...attributes} />}
      </Field>
      <SharedField isShared={isShared} onChange={setIsShared} error={errors['scope']} />
      <p className="tools">
        <Action
          label="Upload skill"
          needs="skills.upload"
          disabled={name === '' || chosen === undefined || chosen.files.length === 0}
          run={() => submit(upload)}
        />
        <span role="status">{uploaded && `Uploaded ${uploaded}.`}</span>
      </p>
    </>
  );
}
