const letters = 'bcdfghjklmnpqrstvwxz2456789';

/** Returns the random end of a generated name, like the API server's. */
export const randomSuffix = (): string =>
  [...crypto.getRandomValues(new Uint8Array(5))].map((byte) => letters[byte % letters.length]).join('');
