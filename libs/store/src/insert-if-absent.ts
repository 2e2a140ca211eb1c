import { ServiceError } from '@switchyard/contracts';

/** Returns false if the document exists already. */
export async function insertIfAbsent(insert: () => Promise<unknown>): Promise<boolean> {
  try {
    await insert();
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'ALREADY_EXISTS') return false;
    throw error;
  }
}
