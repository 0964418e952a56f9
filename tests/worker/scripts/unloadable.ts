throw new Error('this script never loads')
