import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { readBlob } from '../../session/client.ts';

/** A picture that the gateway stores. The browser sends no token with an image, so that the page reads it. */
export function MediaPicture({ path, description }: { path: string; description: string }) {
  const picture = useQuery({
    queryKey: ['picture', path],
    staleTime: Infinity,
    queryFn: ({ signal }) => readBlob(path, signal),
  });
  const source = useObjectUrl(picture.data);
  if (source === undefined) return <span>[{description === '' ? 'picture' : description}]</span>;
  return <img className="picture" src={source} alt={description} />;
}

function useObjectUrl(blob: Blob | undefined): string | undefined {
  const [source, setSource] = useState<string>();
  useEffect(() => {
    if (blob === undefined) return undefined;
    const url = URL.createObjectURL(blob);
    setSource(url);
    return () => URL.revokeObjectURL(url);
  }, [blob]);
  return source;
}
