"""The Graph: vertex names, labels and adjacency (CSR and CSC) of an edge frame."""
