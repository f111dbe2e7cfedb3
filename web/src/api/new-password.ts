const letters = 'abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const groups = 4;
const groupLength = 5;

/**
 * Returns a password of 117 bits that is easy to read out: groups of letters and digits without look-alikes. Both letters and digits occur,
 * since the policy of a service may require them: one in twenty passwords would have no digit by chance.
 */
export function makePassword(): string {
  for (;;) {
    const password = byChance();
    if (/[a-z]/i.test(password) && /\d/.test(password)) return password;
  }
}

function byChance(): string {
  const take = () => {
    // The last bytes are skipped: with them, some letters would come more often.
    const limit = 256 - (256 % letters.length);
    for (;;) {
      const [byte = 0] = crypto.getRandomValues(new Uint8Array(1));
      if (byte < limit) return letters[byte % letters.length];
    }
  };
  return Array.from({ length: groups }, () => Array.from({ length: groupLength }, take).join('')).join('-');
}
