/** Submits the form of a logout that needs no confirmation. Users press its button if scripts are turned off. */
export const logoutScript = `document.querySelector('button[name="logout"]').click();\n`;
