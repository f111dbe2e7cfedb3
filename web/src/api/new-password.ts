const letters = 'abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const groups = 4;
const groupLength = 5;

/**
 * Easy to read out: no letters that look alike, in groups. 117 bits. Of each kind of characters that the policy of a service may ask for: one
 * in twenty has no digit by chance.
 */
export function makePassword(): string {
  for (;;) {
    const password = byChance();
    if (/[a-z]/i.test(password) && /\d/.test(password)) return password;
  }
}

function byChance(): string {
  const take = () => {
    // What does not fit whole times into a byte would come more often.
    const limit = 256 - (256 % letters.length);
    for (;;) {
      const [byte = 0] = crypto.getRandomValues(new Uint8Array(1));
      if (byte < limit) return letters[byte % letters.length];
    }
  };
  return Array.from({ length: groups }, () => Array.from({ length: groupLength }, take).join('')).join('-');
}
